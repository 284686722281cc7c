//! Copies. Ranges are checked when a copy is queued; freeing memory before the copy runs breaks the
//! context.
//!
//! | file | job |
//! |---|---|
//! | `place` | the memory that copies name |
//! | `line` | functions for one range |
//! | `rows` | functions for rectangles |
//! | `set` | filling memory |

pub mod line;
pub(crate) mod place;
pub mod rows;
pub mod set;

use std::sync::Arc;

use emu_driver::process::lock;

use self::place::Range;
use crate::code::Answer;
use crate::settings::settings;
use crate::state::Context;
use crate::state::stream::Stream;

/// Bytes that are copied at a time between two places that kernels may use.
const PIECE: usize = 64 << 10;

/// A piece of a copy: its offsets in both ranges, and its length.
type Piece = (usize, usize, usize);

/// The bytes that a copy reads.
enum Source {
    /// Memory that is read when the stream gets there.
    Range(Range),
    /// Bytes that were read when the copy was queued, from memory that the driver cannot read later.
    Staged(Vec<u8>),
}

/// Copies pieces.
///
/// # Safety
/// Both sides have these pieces.
unsafe fn perform(to: &Range, from: &Source, pieces: &[Piece]) -> Answer {
    let to = to.resolve()?;
    match from {
        Source::Staged(bytes) => {
            for &(into, at, len) in pieces {
                // SAFETY: the caller's promise.
                unsafe { to.write(into, bytes[at..].as_ptr(), len) };
            }
        }
        Source::Range(from) => {
            let from = from.resolve()?;
            let mut between = vec![0; PIECE];
            for &(into, at, len) in pieces {
                for done in (0..len).step_by(PIECE) {
                    let len = PIECE.min(len - done);
                    // SAFETY: the caller's promise; `between` is long enough.
                    unsafe {
                        from.read(at + done, between.as_mut_ptr(), len);
                        to.write(into + done, between.as_ptr(), len);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Reads pieces; returns their bytes, and where these go.
///
/// # Safety
/// There are these pieces.
unsafe fn stage(from: &Range, pieces: &[Piece]) -> Answer<(Vec<u8>, Vec<Piece>)> {
    let place = from.resolve()?;
    let mut bytes = vec![0; pieces.iter().map(|&(_, _, len)| len).sum()];
    let (mut staged, mut next) = (Vec::with_capacity(pieces.len()), 0);
    for &(into, at, len) in pieces {
        // SAFETY: the caller's promise; `bytes` has room for all pieces.
        unsafe { place.read(at, bytes[next..].as_mut_ptr(), len) };
        staged.push((into, next, len));
        next += len;
    }
    Ok((bytes, staged))
}

/// Queues a copy, whose source is read at once if it is the host's ordinary memory.
///
/// # Safety
/// Both sides have these pieces, until the stream has made the copy.
unsafe fn queue(
    context: &Context,
    stream: &Arc<Stream>,
    to: Range,
    (from, is_host): (Range, bool),
    pieces: Vec<Piece>,
) -> Answer {
    let (from, pieces) = if is_host {
        // SAFETY: the caller's promise.
        let (bytes, pieces) = unsafe { stage(&from, &pieces)? };
        (Source::Staged(bytes), pieces)
    } else {
        (Source::Range(from), pieces)
    };
    in_turn(context, stream, move || {
        // SAFETY: the caller's promise.
        unsafe { perform(&to, &from, &pieces) }
    })
}

/// Queues an operation of the copy engine.
fn in_turn(
    context: &Context,
    stream: &Arc<Stream>,
    work: impl FnOnce() -> Answer + Send + 'static,
) -> Answer {
    let delay = settings().copy_delay;
    let delayed = move || {
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        work()
    };
    if !context.gpu.is_strict {
        return context.queue(stream, delayed);
    }
    let _order = lock(&context.engine.order);
    let ticket = context.engine.ticket();
    let progress = Arc::clone(&context.progress);
    context.queue(stream, move || {
        ticket.wait(&progress);
        delayed()
    })
}
