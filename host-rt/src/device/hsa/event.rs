//! Places in streams.

use std::sync::Arc;

use super::blocks::Block;
use super::signal::Signal;
use crate::device::gpu::readback::Arrival;
use crate::device::{DeviceError, Event, EventState, Outcome};

/// A position in a queue.
pub(super) struct HsaEvent {
    /// The operations that precede it.
    pub(super) signals: Vec<Arc<Signal>>,
    pub(super) arrival: Arrival<Arc<Block>>,
}

impl HsaEvent {
    /// Called when everything before it is done, or never will be.
    fn reached(&self, how: Result<(), DeviceError>) -> Outcome {
        // SAFETY: the copies are done. An earlier wait for one of them used such an event, or the
        // queue, which finishes them too.
        unsafe { self.arrival.reached(how) }
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
        Some(self.reached(how)).into()
    }

    fn sync(&self) -> Outcome {
        let mut signals = self.signals.iter();
        self.reached(signals.try_for_each(|signal| signal.wait_for_end()))
    }
}
