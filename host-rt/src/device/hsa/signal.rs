//! Signals: each stands for one operation, 1 until it is done and then 0.

use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hsa_runtime_sys::{HSA_SIGNAL_CONDITION_LT, HSA_WAIT_STATE_BLOCKED, hsa_signal_t};

use super::context::Context;
use crate::error::DeviceError;
use crate::lock::lock;

/// What a signal is while its operation is not done. A copy that fails makes it negative.
pub(super) const PENDING: i64 = 1;

/// How often somebody who waits looks whether the device is lost: operations that will never
/// be done do not change their signals.
const LOOK: Duration = Duration::from_millis(5);

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
        for raw in std::mem::take(&mut *lock(&self.waiting)) {
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
        // Acquire, behind the acquire of the value: who abandoned it said so before.
        let is_abandoned = self.is_abandoned.load(Ordering::Acquire);
        match value {
            0 if !is_abandoned => Some(Ok(())),
            ..0 => Some(Err(self
                .context()
                .lose("a copy failed, and ROCr does not say why".to_owned()))),
            _ => self.context().check_lost().err().map(Err),
        }
    }

    /// Waits until the operation is done, well or not; `None` if it is not at `until`.
    pub(super) fn wait(&self, until: Option<Instant>) -> Option<Result<(), DeviceError>> {
        loop {
            if let Some(outcome) = self.look() {
                return Some(outcome);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
            self.wait_for(left.map_or(LOOK, |left| left.min(LOOK)));
        }
    }

    /// Waits for the device for a while.
    fn wait_for(&self, time: Duration) {
        let rocr = self.context().rocr;
        let ticks = time.as_secs_f64() * rocr.frequency as f64;
        // SAFETY: the handle is alive. That it returns is no promise of anything: who calls
        // this looks.
        unsafe {
            rocr.hsa_signal_wait_scacquire(
                self.raw,
                HSA_SIGNAL_CONDITION_LT,
                PENDING,
                ticks as u64,
                HSA_WAIT_STATE_BLOCKED,
            );
        }
    }

    /// Lets go what waits for it on the device, of an operation that will never be done: its
    /// queue is gone.
    pub(super) fn abandon(&self) {
        if self.is_over() {
            return;
        }
        // Release, before the value: see `look`.
        self.is_abandoned.store(true, Ordering::Release);
        // SAFETY: the handle is alive, and nobody else changes the value any more.
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
