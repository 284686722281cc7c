//! A GPU's primary context, which all users of CUDA's runtime in this process share, so that
//! kernels here can use their memory.

use std::ffi::c_char;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Arc;

use cudarc::driver::sys::{CUcontext, CUdevice, CUdevice_attribute, CUresult};

use super::driver::{self, Driver};
use super::emulated::Emulated;
use super::functions::{Code, Functions};
use crate::device::gpu::loss::DeviceLoss;
use crate::device::{DeviceError, DriverFailure, LossReason};

/// The context of one GPU; released with the last owner.
pub(super) struct Context {
    pub(super) driver: &'static Driver,
    /// The GPU, if it is emulated.
    pub(super) emulated: Option<Emulated>,
    /// The driver's number of the GPU.
    pub(super) number: u32,
    name: String,
    device: CUdevice,
    raw: CUcontext,
    loss: DeviceLoss,
}

// SAFETY: contexts may be used by all threads; `enter` makes it a thread's own.
unsafe impl Send for Context {}
// SAFETY: the driver's functions are thread-safe, and `enter` makes the context current for each
// thread.
unsafe impl Sync for Context {}

/// Number of GPUs.
///
/// # Errors
/// There is no driver, or it is unusable.
pub(in crate::device) fn count() -> Result<u32, DeviceError> {
    let driver = driver::installed()?;
    let mut count = 0;
    // SAFETY: the function writes the number.
    let asked = unsafe { driver.functions.cuDeviceGetCount(&raw mut count) };
    driver
        .check("cuDeviceGetCount", asked)
        .map_err(|failure| DeviceError::driver("cuda", failure))?;
    Ok(count.try_into().unwrap_or(0))
}

impl Context {
    /// Retains the context of the installed driver's GPU `number`, which exists.
    pub(super) fn retain(number: u32) -> Result<Arc<Self>, DeviceError> {
        Self::retain_of(driver::installed()?, None, number, format!("cuda:{number}"))
    }

    /// Retains the context of an emulated GPU, whose device has this name.
    pub(super) fn retain_emulated(gpu: Emulated, name: String) -> Result<Arc<Self>, DeviceError> {
        let number = gpu.number();
        Self::retain_of(driver::emulated()?, Some(gpu), number, name)
    }

    fn retain_of(
        driver: &'static Driver,
        emulated: Option<Emulated>,
        number: u32,
        name: String,
    ) -> Result<Arc<Self>, DeviceError> {
        let cu = &driver.functions;
        let check = |call, code| {
            driver
                .check(call, code)
                .map_err(|e| DeviceError::driver(&name, e))
        };
        let mut device = 0;
        // SAFETY: the function writes the handle.
        let got = unsafe { cu.cuDeviceGet(&raw mut device, number.cast_signed()) };
        check("cuDeviceGet", got)?;
        let mut raw = null_mut();
        // SAFETY: the function writes the handle.
        let retained = unsafe { cu.cuDevicePrimaryCtxRetain(&raw mut raw, device) };
        driver
            .check("cuDevicePrimaryCtxRetain", retained)
            .map_err(|failure| {
                if driver::is_fatal(retained) {
                    // The context of a fault, which is still in use.
                    DeviceError::Lost {
                        device: name.clone(),
                        reason: failure.into(),
                    }
                } else {
                    DeviceError::driver(&name, failure)
                }
            })?;
        Ok(Arc::new(Self {
            driver,
            emulated,
            number,
            name,
            device,
            raw,
            loss: DeviceLoss::default(),
        }))
    }

    /// The driver's functions.
    pub(super) fn cu(&self) -> &'static Functions {
        &self.driver.functions
    }

    /// The device's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Makes this the calling thread's context until the result is dropped: nearly all driver
    /// functions act on the current context, and the application may have set another one.
    ///
    /// # Errors
    /// The device is lost. Then nothing needs to be freed: the context's resources go with it.
    pub(super) fn enter(&self) -> Result<Entered<'_>, DeviceError> {
        self.check_lost()?;
        let mut before = null_mut();
        // SAFETY: the function writes the handle.
        let asked = unsafe { self.cu().cuCtxGetCurrent(&raw mut before) };
        self.check("cuCtxGetCurrent", asked)?;
        if before != self.raw {
            // SAFETY: `self` retains the context.
            let set = unsafe { self.cu().cuCtxSetCurrent(self.raw) };
            self.check("cuCtxSetCurrent", set)?;
        }
        Ok(Entered {
            context: self,
            before,
            of_this_thread: PhantomData,
        })
    }

    /// # Errors
    /// The device is lost.
    pub(super) fn check_lost(&self) -> Result<(), DeviceError> {
        self.loss.check(&self.name)
    }

    /// The result of a driver function.
    pub(super) fn check(&self, call: &'static str, code: Code) -> Result<(), DeviceError> {
        self.driver.check(call, code).map_err(|failure| {
            if driver::is_fatal(code) {
                self.lose(failure, code)
            } else {
                DeviceError::driver(&self.name, failure)
            }
        })
    }

    /// Like [`check`](Self::check), for calls that report progress. After any failure, the state of
    /// the GPU is unknown, so the device counts as lost and its resources are left alone.
    pub(super) fn check_progress(&self, call: &'static str, code: Code) -> Result<(), DeviceError> {
        self.driver
            .check(call, code)
            .map_err(|failure| self.lose(failure, code))
    }

    /// Marks the device as lost. Unless the driver reported the context as unusable, kernels may
    /// still run in it, and releasing it might wait for them forever.
    fn lose(&self, failure: DriverFailure, code: Code) -> DeviceError {
        let may_be_running = !driver::is_fatal(code);
        let fault = || self.emulated.as_ref()?.fault(self.raw);
        let reason = fault().map_or_else(|| failure.into(), LossReason::Fault);
        self.loss.set(&self.name, reason, may_be_running).0
    }

    /// Whether the device is lost although its kernels may still run.
    pub(super) fn may_be_running(&self) -> bool {
        self.loss.may_be_running()
    }

    /// An attribute of the GPU; 0 if the driver does not support it.
    pub(super) fn attribute(&self, attribute: CUdevice_attribute) -> u32 {
        let mut value = 0;
        // SAFETY: the function writes the number.
        let code = unsafe {
            self.cu()
                .cuDeviceGetAttribute(&raw mut value, attribute, self.device)
        };
        if code == CUresult::CUDA_SUCCESS {
            value.try_into().unwrap_or(0)
        } else {
            0
        }
    }

    /// The product name.
    pub(super) fn product(&self) -> String {
        let mut text = [0u8; 128];
        let (at, len) = (text.as_mut_ptr().cast::<c_char>(), text.len() as i32);
        // SAFETY: the function writes a C string of at most that many bytes.
        let code = unsafe { self.cu().cuDeviceGetName(at, len, self.device) };
        match self.driver.check("cuDeviceGetName", code) {
            Ok(()) => text_until_nul(&text),
            Err(_) => "an NVIDIA GPU".to_owned(),
        }
    }

    /// The bus address, such as `0000:01:00.0`; empty if unknown.
    pub(super) fn bus(&self) -> String {
        let mut text = [0u8; 32];
        let (at, len) = (text.as_mut_ptr().cast::<c_char>(), text.len() as i32);
        // SAFETY: the function writes a C string of at most that many bytes.
        let code = unsafe { self.cu().cuDeviceGetPCIBusId(at, len, self.device) };
        match self.driver.check("cuDeviceGetPCIBusId", code) {
            Ok(()) => text_until_nul(&text),
            Err(_) => String::new(),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.may_be_running() {
            return;
        }
        // SAFETY: retained once by `retain`. Everything made in the context owns it.
        let released = unsafe { self.cu().cuDevicePrimaryCtxRelease_v2(self.device) };
        if let Err(error) = self.driver.check("cuDevicePrimaryCtxRelease", released) {
            tracing::warn!(device = self.name, %error, "the context was not released");
        }
    }
}

/// Makes a context the calling thread's current one.
pub(super) struct Entered<'a> {
    context: &'a Context,
    before: CUcontext,
    /// Not `Send`: a thread has one current context.
    of_this_thread: PhantomData<*mut ()>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.before != self.context.raw {
            // SAFETY: the context was this thread's before `enter`, and its user keeps it. If not,
            // the driver rejects it, and there is nothing to restore.
            let _ = unsafe { self.context.cu().cuCtxSetCurrent(self.before) };
        }
    }
}

fn text_until_nul(text: &[u8]) -> String {
    let len = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    String::from_utf8_lossy(&text[..len]).into_owned()
}
