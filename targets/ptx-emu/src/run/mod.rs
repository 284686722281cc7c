//! Running kernels.

mod access;
mod atomic;
mod block;
mod collective;
mod common;
mod converge;
mod deadlock;
mod exec;
mod fault;
mod frame;
mod launch;
mod processor;
mod rendezvous;
mod space;
mod system;
mod warp;

pub(crate) use self::launch::{Activity, Check, Launch, LaunchConfig};
pub use self::launch::{OnEnd, Trace};
pub(crate) use self::processor::Processors;
