//! Places in streams.

use std::sync::Arc;

use super::signal::Signal;
use super::stream::Readback;
use crate::device::{DeviceError, Event, EventState};

/// A place in a queue.
pub(super) struct HsaEvent {
    /// What is done when it is reached.
    pub(super) signals: Vec<Arc<Signal>>,
    /// What has arrived then.
    readbacks: Vec<Arc<Readback>>,
    /// Why it counts as failed then.
    failed: Option<String>,
}

impl HsaEvent {
    /// The place where these are done, and those have arrived. It fails then if there is a
    /// reason: no sooner, since who finds that it has failed waits for no copy before it.
    pub(super) fn new(
        signals: Vec<Arc<Signal>>,
        readbacks: Vec<Arc<Readback>>,
        failed: Option<String>,
    ) -> Self {
        Self {
            signals,
            readbacks,
            failed,
        }
    }

    /// Why it is known to fail, if it is.
    pub(super) fn reason(&self) -> Option<&String> {
        self.failed.as_ref()
    }

    /// All before it is done, or never will be.
    fn reached(&self, how: Result<(), DeviceError>) -> Result<(), String> {
        let mut how = how.map_err(|error| error.to_string());
        for readback in &self.readbacks {
            match &how {
                // SAFETY: the copies are done. Who waited for one before did so by such an
                // event, or by a queue, which finishes them, too.
                Ok(()) => how = unsafe { readback.finish() },
                Err(why) => readback.give_up(why),
            }
        }
        how.and_then(|()| self.failed.clone().map_or(Ok(()), Err))
    }
}

impl Event for HsaEvent {
    fn check(&self) -> EventState {
        let mut how = Ok(());
        for signal in &self.signals {
            match signal.look() {
                Some(Ok(())) => {}
                None => return EventState::Pending,
                Some(Err(error)) => {
                    how = Err(error);
                    break;
                }
            }
        }
        self.reached(how)
            .map_or_else(EventState::Failed, |()| EventState::Done)
    }

    fn sync(&self) -> Result<(), String> {
        let mut signals = self.signals.iter();
        self.reached(signals.try_for_each(|signal| signal.wait_for_end()))
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn std::any::Any + Send + Sync> {
        self
    }
}
