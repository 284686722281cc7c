//! Streams.

use std::sync::atomic::Ordering;

use emu_driver::process::{handle, lock};

use crate::code::{Answer, Code};
use crate::driver::{contexts, with_context, with_owner};
use crate::pointers::Out;
use crate::state::Context;
use crate::state::stream::{HIGHEST_PRIORITY, NON_BLOCKING, Order, QUERIES, Stream, WAITS};

fn create(context: &Context, stream: Out<u64>, flags: u32, priority: i32) -> Answer {
    let order = match flags {
        0 => Order::Blocking,
        NON_BLOCKING => Order::Alone,
        _ => return Err(Code::INVALID_VALUE),
    };
    let handle = handle();
    let made = Stream::new(context, handle, order, priority.clamp(HIGHEST_PRIORITY, 0));
    stream.set(handle)?;
    lock(&context.owned).streams.insert(handle, made);
    Ok(())
}

pub extern "C" fn cuStreamCreate(stream: Out<u64>, flags: u32) -> u32 {
    with_context("cuStreamCreate", |context| {
        create(context, stream, flags, 0)
    })
}

pub extern "C" fn cuStreamCreateWithPriority(stream: Out<u64>, flags: u32, priority: i32) -> u32 {
    with_context("cuStreamCreateWithPriority", |context| {
        create(context, stream, flags, priority)
    })
}

pub extern "C" fn cuStreamDestroy_v2(stream: u64) -> u32 {
    let is_owner = |context: &Context| lock(&context.owned).streams.contains_key(&stream);
    with_owner("cuStreamDestroy_v2", is_owner, |context| {
        let mut owned = lock(&context.owned);
        let destroyed = owned.streams.remove(&stream);
        let destroyed = destroyed.ok_or(Code::INVALID_HANDLE)?;
        owned.close(destroyed);
        Ok(())
    })
}

pub extern "C" fn cuStreamQuery<const DEFAULT: u64>(stream: u64) -> u32 {
    QUERIES.fetch_add(1, Ordering::Relaxed);
    with_context("cuStreamQuery", |context| {
        let stream = context.stream(stream, DEFAULT)?;
        context.query(&stream)
    })
}

pub extern "C" fn cuStreamSynchronize<const DEFAULT: u64>(stream: u64) -> u32 {
    WAITS.fetch_add(1, Ordering::Relaxed);
    with_context("cuStreamSynchronize", |context| {
        let stream = context.stream(stream, DEFAULT)?;
        context.end(&stream)?.wait()
    })
}

pub extern "C" fn cuStreamWaitEvent<const DEFAULT: u64>(
    stream: u64,
    event: u64,
    flags: u32,
) -> u32 {
    with_context("cuStreamWaitEvent", |context| {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        let stream = context.stream(stream, DEFAULT)?;
        // Events of all contexts are allowed.
        let event = contexts()
            .into_iter()
            .find_map(|context| context.event(event).ok());
        let place = event.ok_or(Code::INVALID_HANDLE)?.place();
        match place {
            Some(place) => context.queue(&stream, move || place.wait()),
            None => Ok(()),
        }
    })
}

pub extern "C" fn cuStreamGetFlags<const DEFAULT: u64>(stream: u64, flags: Out<u32>) -> u32 {
    with_context("cuStreamGetFlags", |context| {
        let stream = context.stream(stream, DEFAULT)?;
        flags.set(if stream.order == Order::Alone {
            NON_BLOCKING
        } else {
            0
        })
    })
}

pub extern "C" fn cuStreamGetPriority<const DEFAULT: u64>(stream: u64, priority: Out<i32>) -> u32 {
    with_context("cuStreamGetPriority", |context| {
        priority.set(context.stream(stream, DEFAULT)?.priority)
    })
}

pub extern "C" fn cuStreamGetId<const DEFAULT: u64>(stream: u64, id: Out<u64>) -> u32 {
    with_context("cuStreamGetId", |context| {
        id.set(context.stream(stream, DEFAULT)?.handle)
    })
}

pub extern "C" fn cuStreamGetCtx<const DEFAULT: u64>(stream: u64, of: Out<u64>) -> u32 {
    with_context("cuStreamGetCtx", |context| {
        context.stream(stream, DEFAULT)?;
        of.set(context.handle)
    })
}

pub extern "C" fn cuStreamGetCtx_v2<const DEFAULT: u64>(
    stream: u64,
    of: Out<u64>,
    green: Out<u64>,
) -> u32 {
    with_context("cuStreamGetCtx_v2", |context| {
        context.stream(stream, DEFAULT)?;
        green.set_if_wanted(0);
        of.set(context.handle)
    })
}

/// Nothing is ever captured.
pub extern "C" fn cuStreamGetCaptureInfo_v2<const DEFAULT: u64>(
    stream: u64,
    status: Out<u32>,
    _id: Out<u64>,
    _graph: Out<u64>,
    _dependencies: Out<u64>,
    _count: Out<usize>,
) -> u32 {
    with_context("cuStreamGetCaptureInfo_v2", |context| {
        context.stream(stream, DEFAULT)?;
        status.set(0)
    })
}

/// Nothing is ever captured.
pub extern "C" fn cuStreamGetCaptureInfo_v3<const DEFAULT: u64>(
    stream: u64,
    status: Out<u32>,
    _id: Out<u64>,
    _graph: Out<u64>,
    _dependencies: Out<u64>,
    _edges: Out<u64>,
    _count: Out<usize>,
) -> u32 {
    with_context("cuStreamGetCaptureInfo_v3", |context| {
        context.stream(stream, DEFAULT)?;
        status.set(0)
    })
}

/// Nothing is ever captured.
pub extern "C" fn cuStreamIsCapturing<const DEFAULT: u64>(stream: u64, status: Out<u32>) -> u32 {
    with_context("cuStreamIsCapturing", |context| {
        context.stream(stream, DEFAULT)?;
        status.set(0)
    })
}

/// The mode of captures, of which there are none, in the caller's variable.
pub extern "C" fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) -> u32 {
    with_context("cuThreadExchangeStreamCaptureMode", |_| mode.set(0))
}
