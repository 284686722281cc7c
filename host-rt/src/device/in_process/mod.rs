//! Devices whose kernels run in this process.
//!
//! | file | job |
//! |---|---|
//! | `host` | kernels are code of a shared object |
//! | `queue` | queues: copies run at once if nothing is pending, otherwise in order |
//! | `traits` | the trait of such a device |
//! | `op` | queued operations, each started by the thread that completes its last dependency |

pub(super) mod host;
mod op;
mod queue;
mod traits;

use self::op::{QueueOp, Work};
use self::queue::InProcessQueue;
use self::traits::{InProcess, MAX_THREADS, in_place};
