//! Ends all communications before MPI ends.
//!
//! MPI requires that of programs, and does not say what `MPI_Finalize` does otherwise: it may wait for ever for the
//! receiver of a long message. So each rank discards what still comes, and goes on with what it has begun. When its own
//! messages have been received, it begins a reduction. Once that is done, no rank waits for the receiver of a message.
//! Short messages may still come: their senders do not wait for them. (Hoefler, Siebert, Lumsdaine, "Scalable
//! communication protocols for dynamic sparse data exchange", 2010, have such a barrier after sends that wait for their
//! receivers.)
//!
//! Collective functions that were given up may never end, because other ranks have not called them. The reduction tells
//! them apart. A rank numbers its collective functions from 0 (`ticket_queue`) and makes them one after the other. It gives no
//! number any more when it gets here. The result of the reduction is the smallest count of numbers of a rank, `n`. Each
//! rank goes on until its functions 0 to `n - 1` have ended, and they do:
//!
//! - All ranks have these functions. A rank polls a function until it ends, whether its call was given up while it waited
//!   for its ticket, during the comparison (`collective`) or later. So once the functions before `k` have ended, all ranks
//!   begin the comparison of `k`, which therefore ends on all of them.
//! - Its result is the same on all ranks. If it says that they differ, or that one has no memory for the data, `k` ends on
//!   all. Otherwise all begin the function itself, so that ends, too. No rank needs to know how far the others are.
//!
//! A rank without function `n` never begins that comparison, so it ends on no rank. Those that have begun it drop it, and
//! their functions after it, which wait for their tickets: nobody relies on these.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use revoff_fn::zerocopy::IntoBytes;
use revoff_host::targets::count::Count;

use crate::communication::Communication;
use crate::communicator::Communicator;
use crate::error::MpiError;
use crate::progress::Rest;
use crate::receives::Receives;
use crate::request::Buffer;
use crate::ticket_queue::TicketQueue;

/// The pause between two polls if the one before has finished nothing.
const PAUSE: Duration = Duration::from_micros(50);

/// How long a message that is to be discarded waits for memory while nothing else is finished.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends `rest`, and all sends to this rank; drops the collective functions that never end. All ranks call this. `last` is a
/// communicator for it alone: ranks that have given up collective functions may be one apart on the other one.
///
/// # Errors
/// MPI fails, or there is no memory. Other ranks may wait for this one.
pub(crate) fn drain(
    last: Communicator,
    receives: &Receives,
    collectives: &TicketQueue,
    mut rest: Rest,
) -> Result<(), MpiError> {
    let mut unreceived = 0;
    let mut end = pin!(end(last, collectives));
    let mut context = Context::from_waker(Waker::noop());
    let mut last_done = Instant::now();
    loop {
        let messages = receives.unreceived()?;
        unreceived += messages.len() as u64;
        rest.messages.extend(messages);
        let is_any_done = rest.poll();
        // The first poll begins the reduction.
        if rest.messages.is_empty()
            && let Poll::Ready(ended) = end.as_mut().poll(&mut context)
        {
            ended?;
            break;
        }
        if is_any_done {
            last_done = Instant::now();
            continue;
        }
        if let Some(bytes) = receives.lacking()
            && last_done.elapsed() > PATIENCE
        {
            return Err(MpiError::Discard { bytes });
        }
        thread::sleep(PAUSE);
    }
    if unreceived > 0 {
        let count = Count(unreceived, "message");
        tracing::warn!("not received before MPI ended: {count} to this rank");
    }
    Ok(())
}

/// Waits until all ranks have begun this, and until the collective functions that all of them have called have ended here.
async fn end(last: Communicator, collectives: &TicketQueue) -> Result<(), MpiError> {
    // The largest complement is that of the smallest count.
    let mut complement = !collectives.issued();
    let buffers = Buffer::for_reduction(complement.as_bytes())?;
    let largest = last.largest(Communication::Finish, 1, buffers)?;
    let (_, buffers) = largest.done().await?;
    if let Some(result) = buffers.last() {
        result.read(complement.as_mut_bytes())?;
    }
    collectives.wait_done(!complement).await;
    Ok(())
}
