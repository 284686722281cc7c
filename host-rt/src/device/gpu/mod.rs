//! Code that the GPU devices share.
//!
//! | file | job |
//! |---|---|
//! | `open` | opening a device after it was lost |
//! | `panics` | catching panics of the application's log subscriber |
//! | `pool` | reuse of streams |
//! | `readback` | copies from staging memory to the host |
//! | `reaper` | the thread that waits for kernels to complete |

pub(super) mod open;
pub(super) mod panics;
pub(super) mod pool;
pub(super) mod readback;
pub(super) mod reaper;
