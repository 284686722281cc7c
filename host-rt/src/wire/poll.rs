//! Finding requests.

use super::ProtocolError;

/// The result of polling a wire; `R` is a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Poll<R> {
    /// No request.
    Empty,
    /// No complete request, but a part of one: the rest arrives without a wake-up.
    Incomplete,
    /// A request, which the caller must complete.
    Request(R),
    /// Text printed by a device thread. The wire may have more.
    Printed(Vec<u8>),
    /// A message was invalid. It is skipped.
    ProtocolError(ProtocolError),
}

impl<R> Poll<R> {
    /// Whether the poll found nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty | Self::Incomplete)
    }

    #[inline]
    pub(super) fn map<T>(self, convert: impl FnOnce(R) -> T) -> Poll<T> {
        match self {
            Self::Empty => Poll::Empty,
            Self::Incomplete => Poll::Incomplete,
            Self::Request(request) => Poll::Request(convert(request)),
            Self::Printed(text) => Poll::Printed(text),
            Self::ProtocolError(reason) => Poll::ProtocolError(reason),
        }
    }
}

/// A poller of a wire. One thread at a time uses it.
pub(crate) trait PollWire: Send {
    /// An owned request, or a request's words.
    type Request;

    /// Takes a request or text. It may miss a request at first; one of the next polls finds it.
    fn poll(&mut self) -> Poll<Self::Request>;

    /// Like [`poll`](Self::poll), but misses no request: for the last poll before sleep.
    fn poll_all(&mut self) -> Poll<Self::Request> {
        self.poll()
    }

    /// Whether another request was ready when the last one was taken, as far as known.
    fn has_ready(&self) -> bool {
        false
    }

    /// Begins a flush, of the text on the wire.
    fn begin_flush(&mut self) {}

    /// Takes text of the flush and leaves requests on the wire. [`Poll::Incomplete`] if text waits
    /// for an earlier message that is unwritten, unless the flush `skips_unwritten` messages.
    fn poll_flush(&mut self, skips_unwritten: bool) -> Poll<Self::Request> {
        let _ = skips_unwritten;
        Poll::Empty
    }

    /// Like [`poll`](Self::poll), but leaves text on the wire.
    fn poll_requests(&mut self) -> Poll<Self::Request> {
        self.poll()
    }
}
