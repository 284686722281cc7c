//! Events: recorded places in streams.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use cudarc::driver::sys::CUevent_flags;
use emu_driver::process::lock;

use super::Context;
use super::stream::Place;
use crate::code::{Answer, Code};

pub(crate) const NO_TIMING: u32 = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;

/// An event.
#[derive(Default)]
pub(crate) struct Event {
    pub(crate) flags: u32,
    pub(crate) recorded: Mutex<Option<Recorded>>,
}

/// A recorded place, and when it was reached, if the event measures time.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) place: Place,
    pub(crate) time: Arc<OnceLock<Instant>>,
}

impl Event {
    /// The place recorded last.
    pub(crate) fn place(&self) -> Option<Place> {
        Some(lock(&self.recorded).clone()?.place)
    }

    /// When it was reached.
    pub(crate) fn time(&self) -> Answer<Instant> {
        let recorded = lock(&self.recorded).clone();
        let recorded = recorded.filter(|_| self.flags & NO_TIMING == 0);
        let recorded = recorded.ok_or(Code::INVALID_HANDLE)?;
        recorded.place.query()?;
        recorded.time.get().copied().ok_or(Code::NOT_READY)
    }
}

impl Context {
    /// The event with this handle.
    pub(crate) fn event(&self, event: u64) -> Answer<Arc<Event>> {
        let found = lock(&self.owned).events.get(&event).cloned();
        found.ok_or(Code::INVALID_HANDLE)
    }
}
