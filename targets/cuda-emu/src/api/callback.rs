//! Functions of the host, and words of memory, in a stream's order.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use crate::api::copy::place::Range;
use crate::code::{Answer, Code};
use crate::driver::{in_stream, with_context};
use crate::state::Context;

/// The caller's argument.
struct Data(*mut c_void);

// SAFETY: the caller leaves what it points to to its function, on any thread.
unsafe impl Send for Data {}

pub extern "C" fn cuLaunchHostFunc<const DEFAULT: u64>(
    stream: u64,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> u32 {
    with_context("cuLaunchHostFunc", |context| {
        let (stream, data) = (context.stream(stream, DEFAULT)?, Data(data));
        let function = function.ok_or(Code::INVALID_VALUE)?;
        context.queue(&stream, move || {
            let data = data;
            // SAFETY: the caller has given function and argument for this call.
            in_stream(|| unsafe { function(data.0) });
            Ok(())
        })
    })
}

pub extern "C" fn cuStreamAddCallback<const DEFAULT: u64>(
    stream: u64,
    function: Option<unsafe extern "C" fn(u64, u32, *mut c_void)>,
    data: *mut c_void,
    flags: u32,
) -> u32 {
    with_context("cuStreamAddCallback", |context| {
        let (handle, data) = (stream, Data(data));
        let (stream, function) = (
            context.stream(stream, DEFAULT)?,
            function.ok_or(Code::INVALID_VALUE)?,
        );
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        context.queue_callback(&stream, move |code| {
            let data = data;
            // SAFETY: the caller has given function and argument for this call.
            in_stream(|| unsafe { function(handle, code.0, data.0) });
        })
    })
}

/// The conditions of a wait, `CUstreamWaitValue_flags`.
const CONDITIONS: [fn(u64, u64, u32) -> bool; 4] = [
    |found, value, bits| {
        let difference = found.wrapping_sub(value) << (64 - bits);
        difference.cast_signed() >= 0
    },
    |found, value, _| found == value,
    |found, value, _| found & value != 0,
    |found, value, bits| !(found | value) << (64 - bits) != 0,
];

/// How often a stream looks at a word that it waits for.
const TICK: Duration = Duration::from_micros(50);

fn wait_value<const BYTES: usize>(
    context: &Arc<Context>,
    (stream, default): (u64, u64),
    address: u64,
    value: u64,
    flags: u32,
) -> Answer {
    let stream = context.stream(stream, default)?;
    let range = Range::of_device(context, address, BYTES)?;
    let is_met = CONDITIONS.get((flags & 0x3fff_ffff) as usize);
    let is_met = *is_met.ok_or(Code::INVALID_VALUE)?;
    if !address.is_multiple_of(BYTES as u64) {
        return Err(Code::INVALID_VALUE);
    }
    let progress = Arc::clone(&context.progress);
    context.queue(&stream, move || {
        let mut found = [0; 8];
        let place = range.resolve()?;
        // SAFETY: the range, which `resolve` has found, has that many bytes.
        let mut look = || unsafe {
            place.read(0, found.as_mut_ptr(), BYTES);
            u64::from_le_bytes(found)
        };
        while !is_met(look(), value, 8 * BYTES as u32) {
            if let Some(code) = progress.broken() {
                return Err(code);
            }
            std::thread::sleep(TICK);
        }
        // Acquire: what the word announces is visible to what follows in the stream.
        fence(Ordering::Acquire);
        Ok(())
    })
}

fn write_value<const BYTES: usize>(
    context: &Arc<Context>,
    (stream, default): (u64, u64),
    address: u64,
    value: u64,
    flags: u32,
) -> Answer {
    let stream = context.stream(stream, default)?;
    let range = Range::of_device(context, address, BYTES)?;
    if flags > 1 || !address.is_multiple_of(BYTES as u64) {
        return Err(Code::INVALID_VALUE);
    }
    context.queue(&stream, move || {
        let place = range.resolve()?;
        // Release: who sees the word sees what precedes it in the stream.
        fence(Ordering::Release);
        // SAFETY: the range, which `resolve` has found, has that many bytes.
        unsafe { place.write(0, value.to_le_bytes().as_ptr(), BYTES) };
        Ok(())
    })
}

macro_rules! values {
    ($($name:ident = $run:ident($type:ty);)*) => {$(
        pub extern "C" fn $name<const DEFAULT: u64>(
            stream: u64,
            address: u64,
            value: $type,
            flags: u32,
        ) -> u32 {
            with_context(stringify!($name), |context| {
                const BYTES: usize = size_of::<$type>();
                $run::<BYTES>(context, (stream, DEFAULT), address, value.into(), flags)
            })
        }
    )*};
}

values! {
    cuStreamWaitValue32_v2 = wait_value(u32);
    cuStreamWaitValue64_v2 = wait_value(u64);
    cuStreamWriteValue32_v2 = write_value(u32);
    cuStreamWriteValue64_v2 = write_value(u64);
}
