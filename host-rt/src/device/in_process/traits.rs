//! What a device is that is this process.

use std::sync::Arc;

use super::Work;
use crate::device::{DeviceError, Global, Grid, LaunchContext, Module};

/// Most threads of a team.
pub(super) const MAX_THREADS: u32 = 1024;

/// A device that is this process.
///
/// # Safety
/// What [`resolve`](Self::resolve) returns is there, all of it, as long as the device and what
/// comes with it. Others use it with atomic accesses, or are kernels, whose matter it is.
pub(super) unsafe trait InProcess: Send + Sync + 'static {
    /// Keeps a range in place.
    type Held;

    /// Where the range that the device sees at `address` is, which is not empty.
    ///
    /// # Errors
    /// It is not for copies.
    fn resolve(
        &self,
        address: u64,
        len: usize,
        write: bool,
    ) -> Result<(*mut u8, Self::Held), DeviceError>;

    /// A copy or a store has changed a range.
    fn wrote(&self, _address: u64, _len: usize) {}

    /// A copy has read a range.
    fn has_read(&self, _address: u64, _len: usize) {}

    /// A kernel that is ready to begin. It keeps device and module until it has ended.
    ///
    /// # Safety
    /// As for [`Queue::launch`](crate::device::Queue::launch).
    ///
    /// # Errors
    /// The device cannot run the grid, which is not empty.
    unsafe fn prepare(
        self: &Arc<Self>,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &[Vec<u8>],
        context: LaunchContext,
    ) -> Result<Box<dyn Work>, DeviceError>;
}
