//! What the devices that are GPUs with a driver have in common.
//!
//! | file | job |
//! |---|---|
//! | `panics` | catching panics of the application's log subscriber |
//! | `pool` | streams that are used again |
//! | `readback` | copies from a device, out of the memory that they are staged in |
//! | `reaper` | the thread that waits for kernels to complete |

pub(super) mod panics;
pub(super) mod pool;
pub(super) mod readback;
pub(super) mod reaper;
