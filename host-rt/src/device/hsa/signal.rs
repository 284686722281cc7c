//! Signals: each stands for one operation, 1 until it is done and then 0.
//!
//! Who waits for one does so with us, and ROCr watches it by the one thread that it has for that:
//! of several who wait for a signal with ROCr itself all but the first keep a processor busy,
//! where the kernel driver does not count events. Source: ROCr, `InterruptSignal::WaitRelaxed`.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use hsa_runtime_sys::{HSA_SIGNAL_CONDITION_LT, hsa_signal_t};

use super::context::Context;
use crate::base::lock::{lock, take};
use crate::device::DeviceError;
use crate::device::gpu::panics::catch_panic;

/// What a signal is while its operation is not done. A copy that fails makes it negative.
pub(super) const PENDING: i64 = 1;

/// How long a wait looks before it sleeps: to be woken, by the device, ROCr and then us, takes
/// about as long.
const LOOKING: Duration = Duration::from_micros(100);

/// How often somebody looks who waits for a signal that ROCr does not watch.
const LOOK: Duration = Duration::from_millis(1);

/// Signals that wait to be used again, at most. Each has an event of the kernel driver's, of which
/// a process has 4096.
const MOST_WAITING: usize = 256;

/// The signals of a device.
pub(super) struct Signals {
    context: Arc<Context>,
    waiting: Mutex<Vec<hsa_signal_t>>,
}

/// The signal of one operation. Whatever the device does with it keeps it alive.
pub(super) struct Signal {
    signals: Arc<Signals>,
    pub(super) raw: hsa_signal_t,
    /// Its operation will never be done, whatever the value says.
    is_abandoned: AtomicBool,
    /// A copy engine has its operation, which will be done without anybody's doing.
    is_with_engine: AtomicBool,
    /// Whether ROCr watches it, once somebody waits.
    is_watched: OnceLock<bool>,
}

impl Signals {
    pub(super) fn new(context: &Arc<Context>) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::clone(context),
            waiting: Mutex::default(),
        })
    }

    /// One whose operation is not done.
    pub(super) fn take(self: &Arc<Self>) -> Result<Arc<Signal>, DeviceError> {
        let waiting = lock(&self.waiting).pop();
        let raw = match waiting {
            Some(raw) => {
                // SAFETY: the handle is alive. What is queued with it comes after this, by
                // the release with which it is handed over.
                unsafe { self.context.rocr.hsa_signal_store_relaxed(raw, PENDING) };
                raw
            }
            None => {
                let mut raw = hsa_signal_t { handle: 0 };
                // SAFETY: the function writes the handle; anybody may wait for it.
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
        // SAFETY: made by `take`, and nobody else's.
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

    /// Whether it is one of this device.
    pub(super) fn is_of(&self, context: &Arc<Context>) -> bool {
        Arc::ptr_eq(&self.signals.context, context)
    }

    fn value(&self) -> i64 {
        // SAFETY: the handle is alive. Acquire: what the operation did has happened.
        unsafe { self.context().rocr.hsa_signal_load_scacquire(self.raw) }
    }

    /// Whether the device is done with it: nothing changes it any more.
    pub(super) fn is_over(&self) -> bool {
        self.value() < PENDING
    }

    /// Whether a copy engine has its operation.
    pub(super) fn is_with_engine(&self) -> bool {
        // Relaxed: it only says who is to wait; the value says whether it is done.
        self.is_with_engine.load(Ordering::Relaxed)
    }

    /// A copy engine has its operation.
    pub(super) fn goes_to_engine(&self) {
        // Relaxed: see above.
        self.is_with_engine.store(true, Ordering::Relaxed);
    }

    /// Whether the operation is done, well or not.
    pub(super) fn look(&self) -> Option<Result<(), DeviceError>> {
        let value = self.value();
        // Relaxed: it says something of a value that `abandon` has stored, with release and
        // behind this flag, so that the acquire of the value brings the flag.
        let is_abandoned = self.is_abandoned.load(Ordering::Relaxed);
        match value {
            // The value before the loss: a kernel that faults may end, too, and ROCr reports its
            // fault on a thread of its own. Asked the other way round, a fault between the two
            // would be a success.
            0 if !is_abandoned => Some(self.context().check_lost()),
            ..0 => Some(Err(self
                .context()
                .lose("a copy failed, and ROCr does not say why".to_owned()))),
            _ => self.context().check_lost().err().map(Err),
        }
    }

    /// Waits until the operation is done, well or not; `None` if it is not at `until`.
    pub(super) fn wait(
        self: &Arc<Self>,
        until: Option<Instant>,
    ) -> Option<Result<(), DeviceError>> {
        let start = Instant::now();
        loop {
            let outcome = self.look();
            let now = Instant::now();
            if outcome.is_some() || until.is_some_and(|until| until <= now) {
                return outcome;
            }
            if now - start >= LOOKING {
                break;
            }
            std::hint::spin_loop();
        }
        let is_watched = *self.is_watched.get_or_init(|| self.watch());
        loop {
            let soon = (!is_watched).then(|| Instant::now() + LOOK);
            let wake = [until, soon].into_iter().flatten().min();
            let context = self.context();
            let is_so = || self.is_over() || context.is_lost();
            context.notifier.wait(wake, is_so);
            let outcome = self.look();
            if outcome.is_some() || until.is_some_and(|until| until <= Instant::now()) {
                return outcome;
            }
        }
    }

    /// Waits until the operation is done, well or not.
    pub(super) fn wait_for_end(self: &Arc<Self>) -> Result<(), DeviceError> {
        loop {
            if let Some(outcome) = self.wait(None) {
                return outcome;
            }
        }
    }

    /// Has ROCr watch it; whether it does.
    fn watch(self: &Arc<Self>) -> bool {
        let context = self.context();
        let signal = Arc::into_raw(Arc::clone(self)).cast_mut();
        // SAFETY: the signal is alive as long as `changed` has not taken it, which is called once,
        // since it wants no more.
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
            // SAFETY: from `into_raw`, and nobody else has taken it.
            drop(unsafe { Arc::from_raw(signal) });
            tracing::warn!(%error, "a wait for the device takes more of a processor");
        }
        watched.is_ok()
    }

    /// Lets go what waits for it on the device, of an operation that will never be done: its
    /// queue is gone.
    pub(super) fn abandon(&self) {
        if self.is_over() {
            return;
        }
        // Relaxed: the release of the value, below, is behind it, see `look`.
        self.is_abandoned.store(true, Ordering::Relaxed);
        // SAFETY: the handle is alive, and nobody else changes the value any more. Release: the
        // flag.
        unsafe {
            self.context().rocr.hsa_signal_store_screlease(self.raw, 0);
        }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // A device that is not done with it would change it in other hands.
        if !self.is_over() {
            return;
        }
        let mut waiting = lock(&self.signals.waiting);
        if waiting.len() < MOST_WAITING {
            waiting.push(self.raw);
        } else {
            drop(waiting);
            self.signals.destroy(self.raw);
        }
    }
}

/// Called by a thread of ROCr's when a signal is over.
unsafe extern "C" fn changed(_value: i64, signal: *mut c_void) -> bool {
    // SAFETY: what `watch` has passed; this is called once.
    let signal = unsafe { Arc::from_raw(signal.cast_const().cast::<Signal>()) };
    catch_panic(move || signal.context().notifier.notify());
    false
}
