//! Loaded images.

use super::DeviceError;

/// A symbol of a loaded image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its device address.
    pub address: u64,
    /// Its size in bytes; 0 where the image does not tell.
    pub size: u64,
}

/// Occupancy limits of a kernel, in device threads, and what a block of it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimits {
    /// Most of a block.
    pub block: u32,
    /// As many as a multiprocessor has registers for.
    pub processor: u32,
    /// Multiprocessors.
    pub processors: u32,
    /// Bytes of shared memory of a block, whatever a launch asks for.
    pub shared_bytes: u32,
}

/// An image on a device; unloaded with the last owner.
pub trait Module: Send + Sync {
    /// The data symbol `name`; `None` if the image has none.
    ///
    /// # Errors
    /// The device cannot say.
    fn global(&self, name: &str) -> Result<Option<Global>, DeviceError>;
    /// The code symbol `name`; `None` if the image has none.
    ///
    /// # Errors
    /// The device cannot say.
    fn kernel(&self, name: &str) -> Result<Option<Global>, DeviceError>;
    /// Occupancy limits of `kernel`, which is one of this module.
    ///
    /// # Errors
    /// The device cannot say.
    fn limits(&self, kernel: Global) -> Result<KernelLimits, DeviceError>;
    /// For the device's own use.
    fn as_any(&self) -> &dyn std::any::Any;
}
