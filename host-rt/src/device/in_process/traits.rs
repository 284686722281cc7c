//! The trait of devices that run in this process.

use std::sync::Arc;

use super::Work;
use crate::device::{Device, DeviceAddr, DeviceError, Global, Grid, LaunchContext, Module, Params};

/// Maximum threads of a team.
pub(super) const MAX_THREADS: u32 = 1024;

/// A device that runs in this process.
///
/// # Safety
/// Ranges that [`resolve`](Self::resolve) returns are valid in full for as long as the `Held` value
/// lives. Other threads access them atomically, or are kernels, which are responsible for their own
/// accesses. They lie in an allocation that begins at a multiple of 8 bytes.
pub(super) unsafe trait InProcess: Device + 'static {
    /// Keeps a range in place.
    type Held;

    /// The host address of the non-empty range that the device sees at `address`.
    ///
    /// # Errors
    /// The range cannot be copied.
    fn resolve(
        &self,
        address: DeviceAddr,
        len: usize,
        write: bool,
    ) -> Result<(*mut u8, Self::Held), DeviceError>;

    /// Called after a copy, a store or an access in place has changed a range.
    fn wrote(&self, _address: DeviceAddr, _len: usize) {}

    /// Called after a copy or an access in place has read a range.
    fn has_read(&self, _address: DeviceAddr, _len: usize) {}

    /// Prepares a kernel to begin. It keeps device and module until it has ended.
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
        params: &Params,
        context: LaunchContext,
    ) -> Result<Box<dyn Work>, DeviceError>;
}

/// Implements [`Device::in_place`].
pub(super) fn in_place(
    device: &impl InProcess,
    address: DeviceAddr,
    len: usize,
    writes: bool,
    access: &mut dyn FnMut(*mut u8) -> usize,
) -> bool {
    let Ok((place, _held)) = device.resolve(address, len, writes) else {
        return false;
    };
    let accessed = access(place);
    if writes {
        device.wrote(address, accessed);
    } else {
        device.has_read(address, accessed);
    }
    true
}
