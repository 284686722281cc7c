//! Events: recorded places in streams.

use std::sync::{Arc, Mutex};

use emu_driver::process::{handle, lock};

use crate::code::{Answer, Code};
use crate::context::Context;
use crate::driver::with_context;
use crate::pointers::Out;
use crate::stream::Place;

/// An event.
#[derive(Default)]
pub(crate) struct Event(Mutex<Option<Place>>);

impl Event {
    /// The place recorded last.
    pub(crate) fn place(&self) -> Option<Place> {
        lock(&self.0).clone()
    }
}

impl Context {
    /// The event with this handle.
    pub(crate) fn event(&self, event: u64) -> Answer<Arc<Event>> {
        let found = lock(&self.owned).events.get(&event).cloned();
        found.ok_or(Code::INVALID_HANDLE)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(event: Out<u64>, flags: u32) -> u32 {
    with_context("cuEventCreate", |context| {
        if flags > 7 {
            return Err(Code::INVALID_VALUE);
        }
        let handle = handle();
        lock(&context.owned).events.insert(handle, Arc::default());
        event.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: u64) -> u32 {
    with_context("cuEventDestroy_v2", |context| {
        let destroyed = lock(&context.owned).events.remove(&event);
        destroyed.map(|_| ()).ok_or(Code::INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: u64, stream: u64) -> u32 {
    with_context("cuEventRecord", |context| {
        let place = context.stream(stream)?.end();
        *lock(&context.event(event)?.0) = Some(place);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: u64) -> u32 {
    with_context("cuEventQuery", |context| {
        let place = context.event(event)?.place();
        place.map_or(Ok(()), |place| place.query())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: u64) -> u32 {
    with_context("cuEventSynchronize", |context| {
        let place = context.event(event)?.place();
        place.map_or(Ok(()), |place| place.wait())
    })
}
