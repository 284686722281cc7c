//! Events.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use emu_driver::process::{handle, lock};

use crate::code::{Answer, Code};
use crate::driver::{with_context, with_owner};
use crate::pointers::Out;
use crate::state::Context;
use crate::state::event::{Event, NO_TIMING, Recorded};

pub extern "C" fn cuEventCreate(event: Out<u64>, flags: u32) -> u32 {
    with_context("cuEventCreate", |context| {
        if flags > 7 {
            return Err(Code::INVALID_VALUE);
        }
        let handle = handle();
        event.set(handle)?;
        let made = Event {
            flags,
            ..Event::default()
        };
        lock(&context.owned).events.insert(handle, Arc::new(made));
        Ok(())
    })
}

pub extern "C" fn cuEventDestroy_v2(event: u64) -> u32 {
    let is_owner = |context: &Context| lock(&context.owned).events.contains_key(&event);
    with_owner("cuEventDestroy_v2", is_owner, |context| {
        let destroyed = lock(&context.owned).events.remove(&event);
        destroyed.map(|_| ()).ok_or(Code::INVALID_HANDLE)
    })
}

fn record(context: &Context, event: u64, stream: u64, default: u64) -> Answer {
    let stream = context.stream(stream, default)?;
    let event = context.event(event)?;
    let time = Arc::<OnceLock<Instant>>::default();
    if event.flags & NO_TIMING == 0 {
        let reached = Arc::clone(&time);
        context.queue(&stream, move || {
            reached.get_or_init(Instant::now);
            Ok(())
        })?;
    }
    let place = context.end(&stream)?;
    *lock(&event.recorded) = Some(Recorded { place, time });
    Ok(())
}

pub extern "C" fn cuEventRecord<const DEFAULT: u64>(event: u64, stream: u64) -> u32 {
    with_context("cuEventRecord", |context| {
        record(context, event, stream, DEFAULT)
    })
}

pub extern "C" fn cuEventRecordWithFlags<const DEFAULT: u64>(
    event: u64,
    stream: u64,
    flags: u32,
) -> u32 {
    with_context("cuEventRecordWithFlags", |context| {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        record(context, event, stream, DEFAULT)
    })
}

pub extern "C" fn cuEventQuery(event: u64) -> u32 {
    with_context("cuEventQuery", |context| {
        let place = context.event(event)?.place();
        place.map_or(Ok(()), |place| place.query())
    })
}

pub extern "C" fn cuEventSynchronize(event: u64) -> u32 {
    with_context("cuEventSynchronize", |context| {
        let place = context.event(event)?.place();
        place.map_or(Ok(()), |place| place.wait())
    })
}

fn elapsed(context: &Context, elapsed: Out<f32>, from: u64, to: u64) -> Answer {
    let (from, to) = (context.event(from)?.time()?, context.event(to)?.time()?);
    let forward = to.saturating_duration_since(from).as_secs_f32();
    let back = from.saturating_duration_since(to).as_secs_f32();
    elapsed.set(1e3 * (forward - back))
}

/// In milliseconds.
pub extern "C" fn cuEventElapsedTime(time: Out<f32>, from: u64, to: u64) -> u32 {
    with_context("cuEventElapsedTime", |context| {
        elapsed(context, time, from, to)
    })
}

/// In milliseconds.
pub extern "C" fn cuEventElapsedTime_v2(time: Out<f32>, from: u64, to: u64) -> u32 {
    with_context("cuEventElapsedTime_v2", |context| {
        elapsed(context, time, from, to)
    })
}
