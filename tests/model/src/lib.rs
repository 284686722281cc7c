//! Model checking of the wires and of the serving threads.
//!
//! The models (`tests/`) run the protocol code of `device-rt` and `host-rt` as it
//! is, over [`Memory`]: loom's words instead of a processor's. Loom runs a model
//! again and again, once for every order in which its threads' accesses can meet
//! and every value that the memory model lets a load return.
//!
//! The serving threads (`tests/serve.rs`) are the source files of `host_rt::serve`, compiled with
//! loom's primitives instead of the standard library's.
//!
//! Each synchronising edge of docs/memory-model.md also has a test per end that
//! takes the order away ([`Weak`]) and expects its model to fail: an edge whose
//! loss nobody notices is either not needed or not modelled.

mod memory;
mod runs;
mod team;

pub use self::memory::{Access, Memory, Side, View, Weak};
pub use self::runs::{Runs, explore};
pub use self::team::{Team, pause};
