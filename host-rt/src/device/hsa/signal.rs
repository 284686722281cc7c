//! Signals: one per operation, 1 until the operation is done and then 0.
//!
//! Threads wait for signals in this module, and ROCr watches the signals with its one thread for
//! that. If several threads waited for a signal with ROCr, all but the first would keep a processor
//! busy when the kernel driver does not count events. Source: ROCr, `InterruptSignal::WaitRelaxed`.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use hsa_runtime_sys::{HSA_SIGNAL_CONDITION_LT, hsa_signal_t};

use super::context::Context;
use crate::base::catch_panic::catch_panic;
use crate::base::lock::{lock, take};
use crate::device::DeviceError;

/// A signal's value while its operation is not done. A copy that fails makes it negative.
pub(super) const PENDING: i64 = 1;

/// How long a wait polls before it sleeps: waking up, through the device, ROCr and this module,
/// takes about as long.
const SPIN_TIME: Duration = Duration::from_micros(100);

/// The polling interval for a signal that ROCr does not watch.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The maximum number of unused signals. Each has an event of the kernel driver, of which a process
/// has 4096.
const MAX_WAITING: usize = 256;

/// The signals of a device.
pub(super) struct Signals {
    context: Arc<Context>,
    waiting: Mutex<Vec<hsa_signal_t>>,
}

/// The signal of one operation. Operations that use it keep it alive.
pub(super) struct Signal {
    signals: Arc<Signals>,
    pub(super) raw: hsa_signal_t,
    /// Its operation will never be done, regardless of the value.
    is_abandoned: AtomicBool,
    /// A copy engine has its operation, which will be done without further action.
    is_with_engine: AtomicBool,
    /// Whether ROCr watches it, once a thread waits.
    is_watched: OnceLock<bool>,
}

impl Signals {
    pub(super) fn new(context: &Arc<Context>) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            waiting: Mutex::default(),
        })
    }

    /// A signal for a pending operation.
    pub(super) fn take(self: &Arc<Self>) -> Result<Arc<Signal>, DeviceError> {
        let waiting = lock(&self.waiting).pop();
        let raw = match waiting {
            Some(raw) => {
                // SAFETY: the handle is alive. Operations queued with it come after this, by the
                // release with which they are submitted.
                unsafe { self.context.rocr.hsa_signal_store_relaxed(raw, PENDING) };
                raw
            }
            None => {
                let mut raw = hsa_signal_t { handle: 0 };
                // SAFETY: the function writes the handle; any agent may wait for it.
                let status = unsafe {
                    self.context
                        .rocr
                        .hsa_signal_create(PENDING, 0, null(), &raw mut raw)
                };
                self.context.check("hsa_signal_create", status)?;
                raw
            }
        };
        Ok(Arc::new(Signal {
            signals: Arc::clone(self),
            raw,
            is_abandoned: AtomicBool::new(false),
            is_with_engine: AtomicBool::new(false),
            is_watched: OnceLock::new(),
        }))
    }

    fn destroy(&self, raw: hsa_signal_t) {
        // SAFETY: made by `take`, and no longer used.
        let status = unsafe { self.context.rocr.hsa_signal_destroy(raw) };
        if let Err(error) = self.context.check("hsa_signal_destroy", status) {
            tracing::warn!(%error, "a signal was not given back");
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for raw in take(&self.waiting) {
            self.destroy(raw);
        }
    }
}

impl Signal {
    fn context(&self) -> &Context {
        &self.signals.context
    }

    /// Whether it belongs to this device.
    pub(super) fn is_of(&self, context: &Arc<Context>) -> bool {
        Arc::ptr_eq(&self.signals.context, context)
    }

    fn value(&self) -> i64 {
        // SAFETY: the handle is alive. Acquire: the operation's effects are visible.
        unsafe { self.context().rocr.hsa_signal_load_scacquire(self.raw) }
    }

    /// Whether the device is done with it: its value does not change any more.
    pub(super) fn is_over(&self) -> bool {
        self.value() < PENDING
    }

    /// Whether a copy engine has its operation.
    pub(super) fn is_with_engine(&self) -> bool {
        // Relaxed: it only decides which side waits; the value tells whether the operation is done.
        self.is_with_engine.load(Ordering::Relaxed)
    }

    /// Records that a copy engine has its operation.
    pub(super) fn goes_to_engine(&self) {
        // Relaxed: it only decides which side waits.
        self.is_with_engine.store(true, Ordering::Relaxed);
    }

    /// The outcome of the operation; `None` if it is pending.
    pub(super) fn poll(&self) -> Option<Result<(), DeviceError>> {
        let value = self.value();
        // Relaxed: `abandon` sets the flag before it stores the value with release, so the acquire
        // of the value brings the flag.
        let is_abandoned = self.is_abandoned.load(Ordering::Relaxed);
        match value {
            // The value is read before the loss: a kernel that faults may end too, and ROCr reports
            // its fault on another thread. In the other order, a fault between the two would count
            // as success.
            0 if !is_abandoned => Some(self.context().check_lost()),
            ..0 => Some(Err(self
                .context()
                .lose("a copy failed, and ROCr gives no reason".to_owned()))),
            // A waiter has the signal of a queued operation, which is abandoned only after the device
            // is lost; the acquire of the value brings the loss. Otherwise it would wait forever.
            0 => {
                let lost = self.context().check_lost();
                assert!(
                    lost.is_err(),
                    "an operation was abandoned on a device that is not lost"
                );
                Some(lost)
            }
            _ => self.context().check_lost().err().map(Err),
        }
    }

    /// Waits until the operation is done, and returns the outcome; `None` if it is pending at
    /// `until`.
    pub(super) fn wait(
        self: &Arc<Self>,
        until: Option<Instant>,
    ) -> Option<Result<(), DeviceError>> {
        let start = Instant::now();
        loop {
            let outcome = self.poll();
            let now = Instant::now();
            if outcome.is_some() || until.is_some_and(|until| until <= now) {
                return outcome;
            }
            if now - start >= SPIN_TIME {
                break;
            }
            std::hint::spin_loop();
        }
        let is_watched = *self.is_watched.get_or_init(|| self.watch());
        loop {
            let soon = (!is_watched).then(|| Instant::now() + POLL_INTERVAL);
            let wake = [until, soon].into_iter().flatten().min();
            let context = self.context();
            let is_so = || self.is_over() || context.is_lost();
            context.notifier.wait(wake, is_so);
            let outcome = self.poll();
            if outcome.is_some() || until.is_some_and(|until| until <= Instant::now()) {
                return outcome;
            }
        }
    }

    /// Waits until the operation is done, and returns the outcome.
    pub(super) fn wait_for_end(self: &Arc<Self>) -> Result<(), DeviceError> {
        loop {
            if let Some(outcome) = self.wait(None) {
                return outcome;
            }
        }
    }

    /// Asks ROCr to watch it; returns whether it does.
    fn watch(self: &Arc<Self>) -> bool {
        let context = self.context();
        let signal = Arc::into_raw(Arc::clone(self)).cast_mut();
        // SAFETY: the signal is alive until `changed` takes it, which is called once, since it
        // returns false.
        let status = unsafe {
            context.rocr.hsa_amd_signal_async_handler(
                self.raw,
                HSA_SIGNAL_CONDITION_LT,
                PENDING,
                Some(changed),
                signal.cast(),
            )
        };
        let watched = context.check("hsa_amd_signal_async_handler", status);
        if let Err(error) = &watched {
            // SAFETY: from `into_raw`, and nothing else has taken it.
            drop(unsafe { Arc::from_raw(signal) });
            tracing::warn!(%error, "a wait for the device takes more of a processor");
        }
        watched.is_ok()
    }

    /// Releases device operations that wait for it, if its operation will never be done: the device
    /// is lost already, or the operation could not be queued and no thread waits for it.
    pub(super) fn abandon(&self) {
        if self.is_over() {
            return;
        }
        // Relaxed: the release of the value, below, orders it; see `poll`.
        self.is_abandoned.store(true, Ordering::Relaxed);
        // SAFETY: the handle is alive, and nothing else changes the value any more. Release orders
        // the flag.
        unsafe {
            self.context().rocr.hsa_signal_store_screlease(self.raw, 0);
        }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // A device that still uses it would change it after its reuse.
        if !self.is_over() {
            return;
        }
        let mut waiting = lock(&self.signals.waiting);
        if waiting.len() < MAX_WAITING {
            waiting.push(self.raw);
        } else {
            drop(waiting);
            self.signals.destroy(self.raw);
        }
    }
}

/// Called by a ROCr thread when a signal is over.
unsafe extern "C" fn changed(_value: i64, signal: *mut c_void) -> bool {
    // SAFETY: the pointer that `watch` passed; this is called once.
    let signal = unsafe { Arc::from_raw(signal.cast_const().cast::<Signal>()) };
    catch_panic(move || signal.context().notifier.notify());
    false
}
