//! What the emulated drivers of GPUs have in common.
//!
//! | module | job |
//! |---|---|
//! | [`process`] | handles, settings, locks |
//! | [`faults`] | injected failures |
//! | [`fill`] | the contents of new memory |

pub mod faults;
pub mod fill;
pub mod process;
