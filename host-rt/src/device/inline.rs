//! Kernels that are run on the thread that asks for them.

use std::sync::Arc;

use super::{BlockShape, DeviceError, Global, Grid};

/// A kernel that is run on the thread that asks for it.
pub struct InlineCall<'a> {
    /// The kernel's name, for messages.
    pub name: &'a str,
    /// The kernel, of a module that stays loaded meanwhile.
    pub kernel: Global,
    /// Must be one thread of one team.
    pub grid: Grid,
    /// What blocks are made of.
    pub block: BlockShape,
    /// Its arguments.
    pub words: &'a [u64],
    /// None if its image has no reverse offload.
    pub caller: Option<Caller>,
}

/// What a device needs to know of a kernel that can call the host and is run on the thread
/// that asks for it.
pub struct Caller {
    /// As [`LaunchContext::key`](super::LaunchContext::key).
    pub key: u32,
    /// As [`LaunchContext::wake_host`](super::LaunchContext::wake_host).
    pub wake_host: Arc<dyn Fn() + Send + Sync>,
}

/// Runs kernels that are plain C functions of this process: each parameter is an integer
/// of 64 bits, passed as C passes one.
pub trait InlineLaunch: Sync {
    /// Runs a kernel on the calling thread to its end: well, or with words about its fault.
    ///
    /// # Safety
    /// The kernel is such a function of as many parameters, which does not unwind, and
    /// may be called with these. Its frames can be abandoned where it traps.
    ///
    /// # Errors
    /// It cannot be run so: the grid, or the number of words.
    unsafe fn run(&self, run: InlineCall<'_>) -> Result<Result<(), String>, DeviceError>;
}
