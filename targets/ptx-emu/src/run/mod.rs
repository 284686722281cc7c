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

pub(crate) use self::launch::{Activity, Check, Launch, Make};
pub use self::launch::{Ended, Trace};
pub(crate) use self::processor::Processors;
