//! The host side: the interface that a host runtime calls.

use core::fmt;

use crate::failure::Failure;
use shared_abi::map_kind::MapKind;

/// One argument as the host function receives it, after mapping.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawArg {
    /// Host memory of `size` bytes. For [`FIRSTPRIVATE_INT`](MapKind::FIRSTPRIVATE_INT) the value
    /// itself, and no memory. Any value, even null, if `size` is 0.
    pub ptr: *mut u8,
    /// Size in bytes, as the device sent it.
    pub size: u64,
    /// Kind, as the device sent it.
    pub kind: MapKind,
}

/// A function that devices call by name.
pub trait HostFunction: Send + Sync + 'static {
    /// Its name. In an image, the symbol
    /// [`FUNCTION_PREFIX`](shared_abi::image::FUNCTION_PREFIX)`NAME` represents it.
    fn name(&self) -> &str;

    /// Hash of its declaration, which is compared with the image's
    /// ([`FunctionInfo`](shared_abi::image::FunctionInfo)); 0: not compared.
    fn signature(&self) -> u64;

    /// Runs it. The number, kinds and sizes of the arguments need no check by the caller; their
    /// host memory must be valid.
    ///
    /// If the function itself fails, it writes its error to `message`. Panics of the function pass
    /// through, without leaving any state half-written that a caller depends on.
    ///
    /// # Errors
    ///
    /// The arguments differ from the declared ones, or the function fails. The caller then copies
    /// nothing back to the device.
    ///
    /// # Safety
    ///
    /// For each argument that is no
    /// [`FIRSTPRIVATE_INT`](MapKind::FIRSTPRIVATE_INT) and whose size is not 0,
    /// `ptr` points into one allocation of which `size` bytes from there on are
    /// - initialised (those of a [`FROM`](MapKind::FROM) too, with zeroes, so that the device does
    ///   not see earlier contents),
    /// - valid for reads, and for writes if [`MapKind::writes_device`] is true, until this returns,
    /// - accessed by nothing else until this returns, in particular by no device.
    ///
    /// Ranges may overlap each other: that is checked.
    unsafe fn call(&self, args: &[RawArg], message: &mut dyn fmt::Write) -> Result<(), Failure>;
}
