//! Loaded images.

use std::any::Any;

use super::{DeviceAddr, DeviceError};

/// A symbol of a loaded image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its device address.
    pub address: DeviceAddr,
    /// Its size in bytes; 0 if the image does not have it.
    pub size: u64,
}

/// Occupancy limits of a kernel, in device threads, and the resources of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimits {
    /// Maximum of a block.
    pub block: u32,
    /// Maximum of a multiprocessor, by its registers.
    pub processor: u32,
    /// Multiprocessors.
    pub processors: u32,
    /// Bytes of static shared memory of a block.
    pub shared_bytes: u32,
}

/// An image on a device; unloaded with the last owner.
pub trait Module: Any + Send + Sync {
    /// The data symbol `name`; `None` if the image has none.
    ///
    /// # Errors
    /// The device cannot tell.
    fn global(&self, name: &str) -> Result<Option<Global>, DeviceError>;
    /// The code symbol `name`; `None` if the image has none.
    ///
    /// # Errors
    /// The device cannot tell.
    fn kernel(&self, name: &str) -> Result<Option<Global>, DeviceError>;
    /// Occupancy limits of `kernel`, which is one of this module.
    ///
    /// # Errors
    /// The device cannot tell.
    fn limits(&self, kernel: Global) -> Result<KernelLimits, DeviceError>;
}

impl dyn Module {
    /// The module as that of its device; `None` if it is another device's.
    pub(super) fn downcast_ref<T: Module>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}
