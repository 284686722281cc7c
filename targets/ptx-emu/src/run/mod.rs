//! Running kernels.

mod access;
mod atomic;
mod block;
mod converge;
mod exec;
mod frame;
mod joint;
mod launch;
mod processor;
mod space;
mod stuck;
mod system;
mod together;
mod warp;

pub use self::launch::Ended;
pub(crate) use self::launch::{Activity, Check, Launch, Make};
pub(crate) use self::processor::Processors;
pub use self::warp::Model;

/// Bytes of shared memory that a block may have, as on an `sm_90`. Source: the CUDA C++
/// programming guide, table "Technical Specifications per Compute Capability".
pub(crate) const MOST_SHARED: u64 = 227 << 10;

/// Threads that a block may have.
pub(crate) const MOST_THREADS: u32 = 1024;
