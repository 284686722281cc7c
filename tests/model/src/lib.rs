//! Model checking of the wires and of the serving threads.
//!
//! The models (`tests/`) run the unchanged protocol code of `device-rt` and `host-rt` over
//! [`Memory`], which consists of loom's words. Loom runs a model once for each interleaving of its
//! threads' accesses and each value that the memory model allows a load to return.
//!
//! The model of the serving threads (`tests/serve.rs`) compiles the source files of
//! `revoff_host::serve::threads` with loom's primitives instead of the standard library's.
//!
//! `tests/indices.rs` needs no loom: it checks the arithmetic under the protocols. `schedules` runs the
//! serving threads as a whole, and tasks, in random schedules.
//!
//! Each synchronising edge of docs/memory-model.md also has a test per end that removes the order
//! ([`Weak`]) and expects its model to fail: if the model still passes, the edge is either
//! unnecessary or not modelled.

mod memory;
mod native;
mod runs;
mod team;

pub use self::memory::{Access, Memory, Side, View, Weak};
pub use self::native::{SlotRows, add_cells};
pub use self::runs::{Runs, explore};
pub use self::team::{Team, pause};
