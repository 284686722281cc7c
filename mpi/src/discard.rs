//! Messages that nobody gets, such as those that are too long for their receives.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use crate::communication::Communication;
use crate::communicator::{Arrived, Communicator};
use crate::request::{Buffer, Sink};
use crate::ticket_queue::Ticket;

/// Receives a message that nobody gets, so that its sender can go on and MPI can end.
///
/// Messages have up to 2 GiB, which kernels choose: one is received at a time, so there is memory for one. `lacking` is its
/// length while there is none: there may be some later.
pub(crate) async fn discard(
    communicator: Communicator,
    ticket: Ticket,
    mut message: Arrived,
    lacking: Arc<AtomicUsize>,
) {
    ticket.wait_served().await;
    // Relaxed: a number alone, which only the ticket that is served changes.
    let set = |bytes| lacking.swap(bytes, Ordering::Relaxed);
    let sink = poll_fn(|_| {
        let bytes = message.bytes;
        let Some(sink) = Sink::new(bytes) else {
            if set(bytes) == 0 {
                tracing::warn!(bytes, "no memory to discard a message: its sender waits");
            }
            return Poll::Pending;
        };
        set(0);
        Poll::Ready(sink)
    });
    let sink = sink.await;
    let what = Communication::Receive {
        from: message.source.from,
        tag: message.source.tag,
        bytes: message.bytes,
    };
    let received = match communicator.receive(what, &mut message, &mut vec![Buffer::Sink(sink)]) {
        Ok(request) => request.done().await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = received {
        tracing::warn!(%error, "a message that nobody gets is not received");
    }
}
