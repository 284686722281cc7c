//! The host side: what a host runtime calls.

use core::fmt;

use crate::failure::Failure;
use shared_abi::map_kind::MapKind;

/// One argument as the host function receives it, after mapping.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawArg {
    /// Host memory of `size` bytes. For
    /// [`FIRSTPRIVATE_INT`](MapKind::FIRSTPRIVATE_INT) the value itself, and no
    /// memory. Where `size` is 0 it may be anything, null too.
    pub ptr: *mut u8,
    /// Size in bytes, as the device sent it.
    pub size: u64,
    /// Kind, as the device sent it.
    pub kind: MapKind,
}

/// A function that devices call by name.
pub trait HostFunction: Send + Sync + 'static {
    /// Its name: in an image, the symbol
    /// [`FUNCTION_PREFIX`](shared_abi::image::FUNCTION_PREFIX)`NAME` stands for it.
    fn name(&self) -> &str;

    /// Hash of its declaration, to be compared with the image's
    /// ([`FunctionInfo`](shared_abi::image::FunctionInfo)); 0: not checked.
    fn signature(&self) -> u64;

    /// Runs it. Any number, kind and size of arguments is in order and is checked;
    /// what the arguments say of host memory must be true.
    ///
    /// Where the function itself fails, it writes what it has to say to `message`.
    /// Panics of the function pass through; nothing is left half-written then
    /// that a caller needs to know of.
    ///
    /// # Errors
    ///
    /// Fails where the arguments are not the declared ones, or where the function
    /// does. The caller then copies nothing back to the device.
    ///
    /// # Safety
    ///
    /// For each argument that is no
    /// [`FIRSTPRIVATE_INT`](MapKind::FIRSTPRIVATE_INT) and whose size is not 0,
    /// `ptr` points into one allocation of which `size` bytes from there on are
    /// - initialised (also those of a [`FROM`](MapKind::FROM): zeroes, lest the
    ///   device see what was there before),
    /// - valid for reads, and for writes where [`MapKind::writes_device`] says so,
    ///   until this returns,
    /// - touched by nobody else until this returns, least of all a device.
    ///
    /// Ranges may overlap each other: that is checked.
    unsafe fn call(&self, args: &[RawArg], message: &mut dyn fmt::Write) -> Result<(), Failure>;
}
