//! Places in streams.

use std::sync::Arc;

use super::landing::Landing;
use super::signal::Signal;
use crate::device::{Event, EventState};
use crate::error::DeviceError;

/// A place in a queue.
pub(super) struct HsaEvent {
    /// What is done when it is reached.
    pub(super) signals: Vec<Arc<Signal>>,
    /// What has arrived then.
    landings: Vec<Arc<Landing>>,
    /// Why it never will be.
    failed: Option<String>,
}

impl HsaEvent {
    /// The place where these are done, and those have arrived.
    pub(super) fn new(signals: Vec<Arc<Signal>>, landings: Vec<Arc<Landing>>) -> Self {
        Self {
            signals,
            landings,
            failed: None,
        }
    }

    /// One that failed before anything was queued.
    pub(super) fn failed(reason: String) -> Self {
        Self {
            signals: Vec::new(),
            landings: Vec::new(),
            failed: Some(reason),
        }
    }

    /// Why it is known to fail, if it is.
    pub(super) fn reason(&self) -> Option<&String> {
        self.failed.as_ref()
    }

    fn reached(&self, how: Result<(), DeviceError>) -> Result<(), String> {
        how.map_err(|error| error.to_string())?;
        for landing in &self.landings {
            // SAFETY: the copies are done. Who waited for one before did so by such an event,
            // or by a queue, which has them land, too.
            unsafe { landing.land() };
        }
        Ok(())
    }
}

impl Event for HsaEvent {
    fn check(&self) -> EventState {
        if let Some(reason) = &self.failed {
            return EventState::Failed(reason.clone());
        }
        for signal in &self.signals {
            match signal.look() {
                Some(Ok(())) => {}
                None => return EventState::Pending,
                Some(Err(error)) => return EventState::Failed(error.to_string()),
            }
        }
        self.reached(Ok(()))
            .map_or_else(EventState::Failed, |()| EventState::Done)
    }

    fn sync(&self) -> Result<(), String> {
        if let Some(reason) = &self.failed {
            return Err(reason.clone());
        }
        let mut signals = self.signals.iter();
        self.reached(signals.try_for_each(|signal| signal.wait(None).unwrap_or(Ok(()))))
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn std::any::Any + Send + Sync> {
        self
    }
}
