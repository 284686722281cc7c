//! The trait of a device.

use std::sync::Arc;

use targets::DeviceArch;

use super::{
    DeviceAddr, DeviceError, Fill, InlineLaunch, MappedMemory, MemoryInfo, MemoryKind, Module,
    Queue,
};
use crate::image::{Image, ImageError};

/// A device.
///
/// # Implementation
/// A copy names its device range by address. A device must reject a range that the host cannot
/// reach (a device thread's stack, memory that is not allocated) with [`DeviceError::Unreachable`],
/// and never pass it on.
///
/// The address that [`in_place`](Self::in_place) passes is that of the range, and valid until the call
/// returns: for reads, and for writes if these were asked for. In memory that [`alloc`](Self::alloc) has
/// returned, it is valid for both until that is freed. Unsafe code relies on it.
pub trait Device: Send + Sync {
    /// The name that opened it.
    fn name(&self) -> &str;
    /// Its number among its kind, which OpenMP's runtime on the device gets.
    fn number(&self) -> u32;
    /// Its architecture, by which the image is chosen from a bundle.
    fn arch(&self) -> DeviceArch;
    /// A short description of the hardware.
    fn description(&self) -> String;
    /// Its memory.
    fn memory(&self) -> MemoryInfo;
    /// The kind of the memory that it allocates.
    fn memory_kind(&self) -> MemoryKind {
        MemoryKind::Host
    }
    /// Frequency of its clock register (`clock64`) in kHz.
    fn clock_khz(&self) -> u32;
    /// Whether its threads can wake a sleeping host.
    fn can_wake_host(&self) -> bool;
    /// Whether allocations of device memory wait for no kernel. If they may, a host function that
    /// allocates for the kernel that called it can wait for ever.
    fn allocates_beside_kernels(&self) -> bool {
        true
    }
    /// Whether [`Queue::copy_beside_kernels`] waits for no kernel. If it may, a host function that copies so
    /// for the kernel that called it can wait for ever. Devices whose copies may be kernels override it.
    fn copies_beside_kernels(&self) -> bool {
        true
    }
    /// Allocates device memory, aligned to 256 bytes.
    ///
    /// # Errors
    /// There is not enough memory.
    fn alloc(&self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError>;
    /// Frees what [`alloc`](Self::alloc) returned. Other addresses are ignored.
    fn free(&self, address: DeviceAddr);
    /// Allocates mapped memory.
    ///
    /// # Errors
    /// There is not enough memory.
    fn alloc_mapped(&self, bytes: usize) -> Result<MappedMemory, DeviceError>;
    /// Loads a single image: [`Image::for_device`] has taken it from a bundle.
    ///
    /// # Errors
    /// The image is not for this device.
    fn load(&self, image: &Image) -> Result<Arc<dyn Module>, ImageError>;
    /// Runs kernels that are plain C functions, if the device supports them.
    fn inline_launch(&self) -> Option<&dyn InlineLaunch> {
        None
    }
    /// Calls `access`, once, with the host address of `len` bytes of device memory, more than none. It
    /// returns how many of them, from the first on, it has read or, if it `writes`, written. Kernels may
    /// access them meanwhile. `false`, without a call, if the host cannot access the range in place.
    fn in_place(
        &self,
        _address: DeviceAddr,
        _len: usize,
        _writes: bool,
        _access: &mut dyn FnMut(*mut u8) -> usize,
    ) -> bool {
        false
    }
    /// A queue without pending work. Dropping it returns it; its pending work continues.
    ///
    /// # Errors
    /// The device has no more queues.
    fn queue(&self) -> Result<Box<dyn Queue>, DeviceError>;
    /// Like [`queue`](Self::queue), but may return one with pending work, which then precedes new
    /// operations. There is a bounded number of them, beyond those in use. For work that other work
    /// waits for only by events.
    ///
    /// # Errors
    /// The device has no more queues.
    fn shared_queue(&self) -> Result<Box<dyn Queue>, DeviceError> {
        self.queue()
    }
}
