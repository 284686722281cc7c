//! What a device is.

use std::sync::Arc;

use targets::DeviceArch;

use super::{DeviceError, Fill, InlineLaunch, MappedMemory, MemoryInfo, Module, Queue};
use crate::image::{Image, ImageError};

/// A device.
///
/// # Implementation
/// A copy names its device range by address; a range that the host does not reach
/// on this device (a device thread's stack, memory that is not allocated) is
/// refused with [`DeviceError::Unreachable`], never passed through.
pub trait Device: Send + Sync {
    /// The name that opened it.
    fn name(&self) -> &str;
    /// Its number among those of its kind, which OpenMP's runtime on the device is told.
    fn number(&self) -> u32;
    /// Its architecture, by which the image is chosen from a bundle.
    fn arch(&self) -> DeviceArch;
    /// What it is made of, in a few words.
    fn description(&self) -> String;
    /// Its memory.
    fn memory(&self) -> MemoryInfo;
    /// Ticks of its clock register (`clock64`) in a second, in thousands.
    fn clock_khz(&self) -> u32;
    /// Whether its threads can wake a sleeping host.
    fn can_wake_host(&self) -> bool;
    /// Allocates device memory, aligned to 256 bytes.
    ///
    /// # Errors
    /// There is not that much.
    fn alloc(&self, bytes: u64, fill: Fill) -> Result<u64, DeviceError>;
    /// Frees what [`alloc`](Self::alloc) returned. Other addresses are ignored.
    fn free(&self, address: u64);
    /// Allocates mapped memory.
    ///
    /// # Errors
    /// There is not that much.
    fn alloc_mapped(&self, bytes: usize) -> Result<MappedMemory, DeviceError>;
    /// Loads an image, one by itself: [`Image::for_device`] has taken it from a
    /// bundle.
    ///
    /// # Errors
    /// The image is not one for this device.
    fn load(&self, image: &Image) -> Result<Arc<dyn Module>, ImageError>;
    /// What runs kernels that are plain C functions, where kernels can be such.
    fn inline_launch(&self) -> Option<&dyn InlineLaunch> {
        None
    }
    /// A queue in which nothing is under way. Dropping it gives it back; what is under way
    /// in it goes on.
    ///
    /// # Errors
    /// The device has no more.
    fn queue(&self) -> Result<Box<dyn Queue>, DeviceError>;
    /// As [`queue`](Self::queue), but perhaps one that was given back with something under
    /// way, which then comes before whatever is queued. There is a bounded number of them,
    /// beyond those that are held at a time. For work that nobody else's work waits for in
    /// other ways than by events.
    ///
    /// # Errors
    /// The device has no more.
    fn shared_queue(&self) -> Result<Box<dyn Queue>, DeviceError> {
        self.queue()
    }
}
