//! Code that the GPU devices share.
//!
//! | file | job |
//! |---|---|
//! | `launch` | running kernels and their outcome |
//! | `loss` | the loss of a device |
//! | `open` | opening a device after it was lost |
//! | `pool` | reuse of streams |
//! | `readback` | copies from staging memory to the host |
//! | `reaper` | the thread that waits for kernels to complete |

pub(super) mod launch;
pub(super) mod loss;
pub(super) mod open;
pub(super) mod pool;
pub(super) mod readback;
pub(super) mod reaper;
