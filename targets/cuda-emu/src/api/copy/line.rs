//! Copies of one range.

use super::place::Range;
use super::queue;
use crate::code::Answer;
use crate::driver::{context_of, with_context};
use crate::state::Context;

/// Which side a pointer is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Host,
    Device,
    /// The address says it.
    Either,
}

/// When a function returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returns {
    /// After the copy.
    Late,
    /// At once, if the host's side is not ordinary memory. Source: the CUDA driver API, "API
    /// synchronization behavior".
    Early,
}

impl Side {
    fn range(self, context: &Context, address: u64, len: usize) -> Answer<(Range, bool)> {
        match self {
            Self::Device => Ok((Range::of_device(context, address, len)?, false)),
            Self::Host | Self::Either => Range::of_either(context, address, len),
        }
    }
}

fn copy(
    context: &Context,
    (stream, default): (u64, u64),
    (to, to_side): (u64, Side),
    (from, from_side): (u64, Side),
    len: usize,
    returns: Returns,
) -> Answer {
    let stream = context.stream(stream, default)?;
    if len == 0 {
        return Ok(());
    }
    let (to, to_host) = to_side.range(context, to, len)?;
    let from = from_side.range(context, from, len)?;
    // SAFETY: the driver's caller has `len` bytes on both sides, and keeps those of the host until the
    // stream is done.
    unsafe { queue(context, &stream, to, from, vec![(0, 0, len)])? };
    if returns == Returns::Late || to_host {
        context.end(&stream)?.wait()?;
    }
    Ok(())
}

/// A copy of one range: the function, the sides, and the context that must be the current one.
macro_rules! copies {
    ($($name:ident, $later:ident: $to:ident, $from:ident;)*) => {$(
        pub extern "C" fn $name<const DEFAULT: u64>(to: u64, from: u64, len: usize) -> u32 {
            with_context(stringify!($name), |context| {
                let (to, from) = ((to, Side::$to), (from, Side::$from));
                copy(context, (0, DEFAULT), to, from, len, Returns::Late)
            })
        }

        pub extern "C" fn $later<const DEFAULT: u64>(
            to: u64,
            from: u64,
            len: usize,
            stream: u64,
        ) -> u32 {
            with_context(stringify!($later), |context| {
                let (to, from) = ((to, Side::$to), (from, Side::$from));
                copy(context, (stream, DEFAULT), to, from, len, Returns::Early)
            })
        }
    )*};
}

copies! {
    cuMemcpy, cuMemcpyAsync: Either, Either;
    cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2: Device, Host;
    cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2: Host, Device;
    cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2: Device, Device;
}

/// A copy between the memory of two contexts, which may be those of two GPUs.
fn peer(
    context: &Context,
    (stream, default): (u64, u64),
    (to, to_context): (u64, u64),
    (from, from_context): (u64, u64),
    len: usize,
    returns: Returns,
) -> Answer {
    let stream = context.stream(stream, default)?;
    let (to_context, from_context) = (context_of(to_context)?, context_of(from_context)?);
    if len == 0 {
        return Ok(());
    }
    if returns == Returns::Late {
        // As documented: after all work in all three contexts.
        for other in [&*to_context, &*from_context, context] {
            other.wait()?;
        }
    }
    let to = Range::of_device(&to_context, to, len)?;
    let from = Range::of_device(&from_context, from, len)?;
    // SAFETY: both sides have `len` bytes.
    unsafe { queue(context, &stream, to, (from, false), vec![(0, 0, len)])? };
    if returns == Returns::Late {
        context.end(&stream)?.wait()?;
    }
    Ok(())
}

pub extern "C" fn cuMemcpyPeer<const DEFAULT: u64>(
    to: u64,
    to_context: u64,
    from: u64,
    from_context: u64,
    len: usize,
) -> u32 {
    with_context("cuMemcpyPeer", |context| {
        let (to, from) = ((to, to_context), (from, from_context));
        peer(context, (0, DEFAULT), to, from, len, Returns::Late)
    })
}

pub extern "C" fn cuMemcpyPeerAsync<const DEFAULT: u64>(
    to: u64,
    to_context: u64,
    from: u64,
    from_context: u64,
    len: usize,
    stream: u64,
) -> u32 {
    with_context("cuMemcpyPeerAsync", |context| {
        let (to, from) = ((to, to_context), (from, from_context));
        peer(context, (stream, DEFAULT), to, from, len, Returns::Early)
    })
}
