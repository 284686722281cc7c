//! What the stand-ins for drivers of GPUs have in common: they run on the `host` device, whose
//! addresses are addresses of the process.
//!
//! | module | job |
//! |---|---|
//! | [`process`] | handles, settings, locks |
//! | [`faults`] | calls that are to fail |
//! | [`memory`] | memory that nobody has written |
//! | [`declared`] | what an image says of itself |
//! | [`launch`] | kernels |
//! | [`loader`] | putting a stand-in in a driver's place |

pub mod declared;
pub mod faults;
pub mod launch;
pub mod loader;
pub mod memory;
pub mod process;
