//! Messages that are too long for their receives.

use std::future::poll_fn;
use std::task::Poll;

use crate::communication::Communication;
use crate::communicator::{Arrived, Communicator};
use crate::request::{Buffer, Sink};
use crate::turns::Turn;

/// Receives a message that nobody gets, so that its sender can go on and MPI can end.
///
/// Messages have up to 2 GiB, which kernels choose: one is received at a time, so there is memory for one.
pub(crate) async fn discard(communicator: Communicator, turn: Turn, message: Arrived) {
    turn.wait().await;
    // If there is none, there may be some later.
    let sink = poll_fn(|_| Sink::new(message.bytes).map_or(Poll::Pending, Poll::Ready)).await;
    let what = Communication::Receive {
        from: message.source.from,
        tag: message.source.tag,
        bytes: message.bytes,
    };
    let received = match communicator.receive(what, message, Buffer::Sink(sink)) {
        Ok(request) => request.done().await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = received {
        tracing::warn!(%error, "a message that is too long is not received");
    }
}
