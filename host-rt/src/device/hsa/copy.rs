//! Copies by the copy engines, and within the device.
//!
//! An engine performs copies one after the other, for all queues. A copy that waits for a kernel
//! would block all later ones, including those that the host needs to answer that kernel's calls: a
//! deadlock. So an engine gets a copy only once the copy's dependencies are done, or are copies
//! that an engine has; until then ROCr watches the signals.
//!
//! A copy within the device counts as a kernel: from 1 MiB on it is one of ROCr's, which needs room
//! that kernels that wait for the host may occupy. Source: ROCr, `GpuAgent::GetBlitObject`.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::Arc;

use hsa_runtime_sys::{HSA_SIGNAL_CONDITION_LT, hsa_agent_t, hsa_signal_t};

use super::context::Context;
use super::signal::{PENDING, Signal};
use crate::base::catch_panic::catch_panic;
use crate::device::DeviceError;

/// A copy that ROCr has not got yet.
pub(super) struct Copy {
    pub(super) context: Arc<Context>,
    /// The target, and the owner of its memory.
    pub(super) to: (u64, hsa_agent_t),
    /// The source, and the owner of its memory.
    pub(super) from: (u64, hsa_agent_t),
    pub(super) len: usize,
    /// Its own signal.
    pub(super) signal: Arc<Signal>,
    /// The signals that it waits for.
    pub(super) after: Vec<Arc<Signal>>,
}

impl Copy {
    /// Submits it to ROCr, now or when its dependencies are done.
    ///
    /// # Safety
    /// Both ranges are valid, for their agents, until the signal reports the end.
    ///
    /// # Errors
    /// It will never be done.
    pub(super) unsafe fn start(self: Box<Self>) -> Result<(), DeviceError> {
        let signal = Arc::clone(&self.signal);
        // SAFETY: the caller's promise.
        let started = unsafe { self.try_start() };
        if started.is_err() {
            // Nothing else will change it.
            signal.abandon();
        }
        started
    }

    /// Like [`start`](Self::start), but leaves the signal alone.
    ///
    /// # Safety
    /// As for [`start`](Self::start).
    unsafe fn try_start(self: Box<Self>) -> Result<(), DeviceError> {
        self.context.check_lost()?;
        let mut after = self.after.iter();
        let first = after.find(|signal| !signal.is_over() && !signal.is_with_engine());
        match first.cloned() {
            // SAFETY: the caller's promise.
            Some(first) => unsafe { self.start_after(&first) },
            // SAFETY: the caller's promise.
            None => unsafe { self.submit() },
        }
    }

    /// Starts once `first` is over.
    ///
    /// # Safety
    /// As for [`start`](Self::start).
    unsafe fn start_after(self: Box<Self>, first: &Signal) -> Result<(), DeviceError> {
        let (context, raw) = (Arc::clone(&self.context), Box::into_raw(self));
        // SAFETY: the signal and the copy are alive: the copy owns the signal, and `ready` takes
        // the copy. It is called once, since it returns false.
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
                // SAFETY: from `into_raw`, and nothing else has taken it.
                drop(unsafe { Box::from_raw(raw) });
            })
    }

    /// Whether an engine does it, rather than a kernel.
    fn is_by_engine(&self) -> bool {
        self.to.1.handle != self.from.1.handle
    }

    /// Submits it to ROCr.
    ///
    /// # Safety
    /// As for [`start`](Self::start).
    unsafe fn submit(&self) -> Result<(), DeviceError> {
        let after = self.after.iter().filter(|signal| !signal.is_over());
        let after: Vec<hsa_signal_t> = after.map(|signal| signal.raw).collect();
        let ((to, to_agent), (from, from_agent)) = (self.to, self.from);
        // ROCr rejects a list without signals.
        let list = if after.is_empty() {
            null()
        } else {
            after.as_ptr()
        };
        // SAFETY: the ranges are valid, by the caller's promise; the stream keeps the signals until
        // the copy is done.
        let status = unsafe {
            self.context.rocr.hsa_amd_memory_async_copy(
                to as *mut c_void,
                to_agent,
                from as *const c_void,
                from_agent,
                self.len,
                after.len() as u32,
                list,
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

/// Called by a ROCr thread when a signal is over.
unsafe extern "C" fn ready(_value: i64, copy: *mut c_void) -> bool {
    // SAFETY: the pointer that `start_after` passed; this is called once.
    let copy = unsafe { Box::from_raw(copy.cast::<Copy>()) };
    catch_panic(move || {
        let (context, signal) = (Arc::clone(&copy.context), Arc::clone(&copy.signal));
        // SAFETY: the caller of `start` promised that the ranges are valid until the copy is done.
        if let Err(error) = unsafe { copy.try_start() } {
            // No caller could receive the error. The loss is first: threads that wait for the
            // signal find it when they find the signal abandoned.
            catch_panic(|| {
                match error {
                    DeviceError::Driver { failure, .. } => context.lose(failure),
                    error => context.lose(error.to_string()),
                };
            });
            signal.abandon();
        }
    });
    false
}
