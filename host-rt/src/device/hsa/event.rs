//! Places in streams.

use std::sync::Arc;

use super::signal::Signal;
use super::stream::Readback;
use crate::device::{DeviceError, Event, EventState, Fault};

/// A place in a queue.
pub(super) struct HsaEvent {
    /// The operations that precede it.
    pub(super) signals: Vec<Arc<Signal>>,
    /// Copies to finish when it is reached.
    readbacks: Vec<Arc<Readback>>,
    /// The reason why it fails then, if there is one.
    failed: Option<Fault>,
}

impl HsaEvent {
    /// The place after these operations and copies. If there is a reason, the event fails when it
    /// is reached and not earlier, since a waiter that finds it failed does not wait for the copies
    /// before it.
    pub(super) fn new(
        signals: Vec<Arc<Signal>>,
        readbacks: Vec<Arc<Readback>>,
        failed: Option<Fault>,
    ) -> Self {
        Self {
            signals,
            readbacks,
            failed,
        }
    }

    /// The reason why it will fail, if known.
    pub(super) fn reason(&self) -> Option<&Fault> {
        self.failed.as_ref()
    }

    /// Called when everything before it is done, or never will be.
    fn reached(&self, how: Result<(), DeviceError>) -> Result<(), Fault> {
        let mut how = how.map_err(|error| Fault::from(&error));
        for readback in &self.readbacks {
            match &how {
                // SAFETY: the copies are done. An earlier wait for one of them used such an event,
                // or the queue, which finishes them too.
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
            match signal.poll() {
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

    fn sync(&self) -> Result<(), Fault> {
        let mut signals = self.signals.iter();
        self.reached(signals.try_for_each(|signal| signal.wait_for_end()))
    }
}
