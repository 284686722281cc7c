//! Devices that are this process.
//!
//! | file | job |
//! |---|---|
//! | `host` | kernels are code of a shared object |
//! | `emu` | kernels are PTX, which is interpreted |
//! | `queue` | queues: copies run at once where nothing is pending, otherwise in order |
//! | `traits` | what such a device is |
//! | `op` | what is queued, begun by whoever completes what it waits for |
//! | `bytes` | copies of memory that others use meanwhile |

mod bytes;
pub(super) mod emu;
pub(super) mod host;
mod op;
mod queue;
mod traits;

use self::op::{Outcome, QueueOp, Work};
use self::queue::InProcessQueue;
use self::traits::{InProcess, MAX_THREADS};
