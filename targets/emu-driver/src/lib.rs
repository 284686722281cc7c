//! The common parts of the emulated drivers.
//!
//! | module | job |
//! |---|---|
//! | [`calls`] | counts of calls by function |
//! | [`devices`] | the GPUs of the environment |
//! | [`faults`] | injected failures |
//! | [`fill`] | the contents of new memory |
//! | [`pointers`] | arguments from C callers |
//! | [`process`] | handles, settings, locks |
//! | [`trace`] | the thread whose instructions are printed |

pub mod calls;
pub mod devices;
pub mod faults;
pub mod fill;
pub mod pointers;
pub mod process;
pub mod trace;
