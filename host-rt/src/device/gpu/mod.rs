//! What the devices that are GPUs with a driver have in common.
//!
//! | file | job |
//! |---|---|
//! | `ends` | the thread that notices the ends of kernels |
//! | `landing` | copies from a device on the last bit of their way |
//! | `pool` | streams that are used again |
//! | `survive` | panics of the application's |

pub(super) mod ends;
pub(super) mod landing;
pub(super) mod pool;
pub(super) mod survive;
