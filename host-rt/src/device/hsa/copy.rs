//! Copies by the copy engines, and within the device.
//!
//! An engine does one copy after the other, those of all queues: one that waits for a kernel
//! keeps all behind it from beginning, also those that the host needs to answer that kernel's
//! calls, for ever. So an engine is given a copy only once what the copy waits for is done, or
//! is a copy that an engine has; until then ROCr watches the signals.
//!
//! A copy within the device counts as a kernel: from 1 MiB on it is one of ROCr's, which takes
//! room that kernels that wait for the host may have. Source: ROCr, `GpuAgent::GetBlitObject`.

use std::ffi::c_void;
use std::sync::Arc;

use hsa_runtime_sys::{HSA_SIGNAL_CONDITION_LT, hsa_agent_t, hsa_signal_t};

use super::context::Context;
use super::signal::{PENDING, Signal};
use crate::device::DeviceError;
use crate::device::gpu::panics::catch_panic;

/// A copy that ROCr has not been given yet.
pub(super) struct Copy {
    pub(super) context: Arc<Context>,
    /// Where to, and who has memory there.
    pub(super) to: (u64, hsa_agent_t),
    /// Where from, and who has memory there.
    pub(super) from: (u64, hsa_agent_t),
    pub(super) len: usize,
    /// Its own signal.
    pub(super) signal: Arc<Signal>,
    /// What it waits for.
    pub(super) after: Vec<Arc<Signal>>,
}

impl Copy {
    /// Gives it to ROCr, now or when that may be.
    ///
    /// # Safety
    /// Both ranges are there, for their agents, until the signal says that it is done.
    ///
    /// # Errors
    /// It never will be done.
    pub(super) unsafe fn start(self: Box<Self>) -> Result<(), DeviceError> {
        let (context, signal) = (Arc::clone(&self.context), Arc::clone(&self.signal));
        let started = context.check_lost().and_then(|()| {
            let mut after = self.after.iter();
            let first = after.find(|signal| !signal.is_over() && !signal.is_with_engine());
            match first.cloned() {
                // SAFETY: the caller's promise.
                Some(first) => unsafe { self.start_after(&first) },
                // SAFETY: the caller's promise.
                None => unsafe { self.submit() },
            }
        });
        if started.is_err() {
            // Nobody else will change it.
            signal.abandon();
        }
        started
    }

    /// Starts once `first` is over.
    ///
    /// # Safety
    /// As for [`start`](Self::start).
    unsafe fn start_after(self: Box<Self>, first: &Signal) -> Result<(), DeviceError> {
        let (context, raw) = (Arc::clone(&self.context), Box::into_raw(self));
        // SAFETY: the signal is alive, since the copy has it, and so is the copy, which `ready`
        // takes: it is called once, since it wants no more.
        let status = unsafe {
            context.rocr.hsa_amd_signal_async_handler(
                first.raw,
                HSA_SIGNAL_CONDITION_LT,
                PENDING,
                Some(ready),
                raw.cast(),
            )
        };
        context
            .check("hsa_amd_signal_async_handler", status)
            .inspect_err(|_| {
                // SAFETY: from `into_raw`, and nobody else has taken it.
                drop(unsafe { Box::from_raw(raw) });
            })
    }

    /// Whether an engine does it, rather than a kernel.
    fn is_by_engine(&self) -> bool {
        self.to.1.handle != self.from.1.handle
    }

    /// Gives it to ROCr.
    ///
    /// # Safety
    /// As for [`start`](Self::start).
    unsafe fn submit(&self) -> Result<(), DeviceError> {
        let after = self.after.iter().filter(|signal| !signal.is_over());
        let after: Vec<hsa_signal_t> = after.map(|signal| signal.raw).collect();
        let ((to, to_agent), (from, from_agent)) = (self.to, self.from);
        // SAFETY: the ranges are there, by the caller's promise; the signals are kept by the
        // stream until the copy is done.
        let status = unsafe {
            self.context.rocr.hsa_amd_memory_async_copy(
                to as *mut c_void,
                to_agent,
                from as *const c_void,
                from_agent,
                self.len,
                after.len() as u32,
                after.as_ptr(),
                self.signal.raw,
            )
        };
        self.context.check("hsa_amd_memory_async_copy", status)?;
        if self.is_by_engine() {
            self.signal.goes_to_engine();
        }
        Ok(())
    }
}

/// Called by a thread of ROCr's when a signal is over.
unsafe extern "C" fn ready(_value: i64, copy: *mut c_void) -> bool {
    // SAFETY: what `start_after` has passed; this is called once.
    let copy = unsafe { Box::from_raw(copy.cast::<Copy>()) };
    catch_panic(move || {
        let context = Arc::clone(&copy.context);
        // SAFETY: as was promised to `start`.
        if let Err(error) = unsafe { copy.start() } {
            // Nobody who could be told has called this.
            context.lose(error.to_string());
        }
    });
    false
}
