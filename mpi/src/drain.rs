//! Ends all communications before MPI ends.
//!
//! MPI requires that of programs, and does not say what `MPI_Finalize` does otherwise: it may wait for ever for the
//! receiver of a long message. So each rank discards what still comes, and goes on with what it has begun. It begins a
//! barrier when nothing of that is left. Once that is done, no rank waits for another one. Short messages may still
//! come: their senders do not wait for them. (Hoefler, Siebert, Lumsdaine, "Scalable communication protocols for
//! dynamic sparse data exchange", 2010, have such a barrier after sends that wait for their receivers.)

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use revoff_host::targets::count::Count;

use crate::communicator::Communicator;
use crate::error::MpiError;
use crate::progress::Rest;
use crate::receives::Receives;

/// The pause between two polls if the one before has finished nothing.
const PAUSE: Duration = Duration::from_micros(50);

/// How long a message that is to be discarded waits for memory while nothing else is finished.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends `rest`, and all sends to this rank. All ranks call this. `last` is a communicator for it alone: ranks that have given
/// up collective functions may be one apart on the other one. `agreed` counts collective functions that the other ranks
/// rely on; others of `rest` may never end, and are dropped.
///
/// # Errors
/// MPI fails, or there is no memory. Other ranks may wait for this one.
pub(crate) fn drain(
    last: Communicator,
    receives: &Receives,
    agreed: &AtomicU32,
    mut rest: Rest,
) -> Result<(), MpiError> {
    let (mut barrier, mut unreceived) = (None, 0);
    let mut last_done = Instant::now();
    loop {
        let messages = receives.unreceived()?;
        unreceived += messages.len() as u64;
        rest.messages.extend(messages);
        let is_any_done = rest.poll();
        // Relaxed: see `Agreed::new`.
        if rest.messages.is_empty() && agreed.load(Ordering::Relaxed) == 0 {
            let barrier = match &mut barrier {
                Some(barrier) => barrier,
                None => barrier.insert(last.barrier()?),
            };
            if barrier.is_done()? {
                break;
            }
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
