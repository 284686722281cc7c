//! The differences between plugins: their devices, GCC's descriptions of images, loading an image
//! and launching a target region.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use revoff_host::device::Global;
use revoff_host::{Kernel, Program};

use crate::device::Device;
use crate::error::Result;
use crate::launch::{RequestedGrid, Running};

/// A kind of GPU in libgomp's sense. A plugin has one, and [exports](crate::plugin!) functions for
/// it.
pub struct Kind {
    /// libgomp's name for it, which is also part of the plugin's.
    pub name: &'static CStr,
    /// A name for these devices in messages: `NVIDIA GPUs`.
    pub gpus: &'static str,
    /// GCC's number for images of it, an `OFFLOAD_TARGET_TYPE_*`.
    pub image_type: c_int,
    /// The version of the descriptions of images.
    pub image_version: u32,
    /// The kind of [`revoff_host`]'s devices that run such images by default.
    pub devices: &'static str,
    /// Whether emulated GPUs of an architecture (`sm_60`; empty for the default) run them, too.
    pub emulates: fn(&str) -> bool,
    /// Reads the environment's settings for such devices, once in a process.
    pub read: fn() -> Box<dyn Gpu>,
}

/// The operations that depend on the kind of device.
pub trait Gpu: Send + Sync {
    /// Loads the image that GCC describes at `data`; `name` is the containing file, for messages.
    ///
    /// # Safety
    /// `data` is what `GOMP_OFFLOAD_load_image` was called with, of an image whose version
    /// for the host is `version`.
    ///
    /// # Errors
    /// The device cannot run the image.
    unsafe fn load(
        &self,
        device: &Device,
        name: &str,
        version: u32,
        data: *const c_void,
    ) -> Result<Code>;
}

/// A loaded image.
pub struct Code {
    /// The image.
    pub program: Program,
    /// The functions that the host knows, in the order of its table.
    pub functions: Vec<Function>,
    /// The variables that the host knows, in the order of its table.
    pub variables: Vec<Global>,
    /// Device addresses of the functions that are called through pointers, in the order of the
    /// host's table: as many as GCC's description of the image counts.
    pub indirect: Vec<u64>,
    /// Whether device code can call the host.
    pub calls_host: bool,
    /// Its parts, for debugging: `25 PTX texts`.
    pub about: String,
    /// Launches its kernels.
    pub kernels: Box<dyn Kernels>,
}

/// A function that the host knows.
pub struct Function {
    /// Its name in the image.
    pub name: String,
    /// The word that represents it in a call of the host; 0 for a kernel, which is not called.
    pub word: u64,
}

/// Launches the kernels of an image.
pub trait Kernels: Send + Sync {
    /// Runs the image's constructors, if it has any.
    ///
    /// # Errors
    /// A constructor failed.
    fn construct(&self, device: &Device) -> Result<()>;

    /// Runs the image's destructors, if it has any that can be run.
    ///
    /// # Errors
    /// A destructor failed.
    fn destruct(&self, _device: &Device) -> Result<()> {
        Ok(())
    }

    /// Starts a target region with its variables at device address `vars`.
    ///
    /// # Safety
    /// `kernel` is one of the image, compiled from a target region; the memory of its variables
    /// stays until the region has ended.
    ///
    /// # Errors
    /// The device cannot run it.
    unsafe fn start(
        &self,
        device: &Device,
        kernel: &Kernel,
        vars: u64,
        requested: RequestedGrid,
    ) -> Result<Box<dyn Running>>;
}

static KIND: OnceLock<&'static Kind> = OnceLock::new();

/// Sets the kind that this plugin is for. Each function that libgomp calls does so first. A plugin
/// has its own copy of this crate, and so one kind.
#[doc(hidden)]
pub fn set(kind: &'static Kind) {
    KIND.get_or_init(|| kind);
}

/// The kind that this plugin is for.
pub(crate) fn kind() -> &'static Kind {
    match KIND.get() {
        Some(kind) => kind,
        #[cfg(test)]
        None => &tests::NONE,
        #[cfg(not(test))]
        None => unreachable!("what libgomp calls has said it"),
    }
}

/// A kind for the tests of this crate: emulated devices, without images.
#[cfg(test)]
mod tests {
    use super::*;

    struct None;

    impl Gpu for None {
        unsafe fn load(
            &self,
            _device: &Device,
            _name: &str,
            _version: u32,
            _data: *const c_void,
        ) -> Result<Code> {
            unreachable!("no image is loaded here")
        }
    }

    pub(super) static NONE: Kind = Kind {
        name: c"none",
        gpus: "no GPUs",
        image_type: 0,
        image_version: 1,
        devices: "emu",
        emulates: |_| true,
        read: || Box::new(None),
    };
}
