//! Model checking of the wires.
