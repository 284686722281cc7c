//! The common parts of the stand-ins for drivers of GPUs: they run on the `host` device, whose
//! addresses are addresses of the process.
//!
//! | module | job |
//! |---|---|
//! | [`declared`] | descriptions of an image |
//! | [`launch`] | kernels |
//! | [`loader`] | loading a stand-in instead of a driver |

pub mod declared;
pub mod launch;
pub mod loader;
