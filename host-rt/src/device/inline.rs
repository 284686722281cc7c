//! Kernels that run on the caller's thread.

use std::sync::Arc;

use super::Outcome;
use super::{BlockShape, DeviceError, Global, Grid};

/// A kernel that runs on the caller's thread.
pub struct InlineCall<'a> {
    /// The kernel's name, for messages.
    pub name: &'a str,
    /// The kernel, of a module that stays loaded meanwhile.
    pub kernel: Global,
    /// Must be one thread of one team.
    pub grid: Grid,
    /// The shape of blocks.
    pub block: BlockShape,
    /// Its arguments.
    pub words: &'a [u64],
    /// None if its image has no reverse offload.
    pub caller: Option<Caller>,
}

/// Properties of a launch for a kernel that can call the host and runs on the caller's thread.
pub struct Caller {
    /// The same as [`LaunchContext::key`](super::LaunchContext::key).
    pub key: u32,
    /// The same as [`LaunchContext::wake_host`](super::LaunchContext::wake_host).
    pub wake_host: Arc<dyn Fn() + Send + Sync>,
}

/// Runs kernels that are plain C functions of this process: each parameter is an integer
/// of 64 bits, passed as C passes one.
pub trait InlineLaunch: Sync {
    /// Runs a kernel on the calling thread to its end. The inner result is the kernel's.
    ///
    /// # Safety
    /// The kernel is such a function with this number of parameters, does not unwind, and may be
    /// called with these words. Its frames can be abandoned if it traps.
    ///
    /// # Errors
    /// The grid or the number of words is not supported.
    unsafe fn run(&self, run: InlineCall<'_>) -> Result<Outcome, DeviceError>;
}
