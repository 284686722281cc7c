//! Finding requests.

/// What a poll of a wire found; `R` is a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Poll<R> {
    /// No request.
    Empty,
    /// A request. It is ours; the wire must be told how it ended.
    Request(R),
    /// Text that a device thread prints. There may be more.
    Printed(Vec<u8>),
    /// Something that no device runtime writes. It was passed over.
    ProtocolError(String),
}

impl<R> Poll<R> {
    /// Whether there was nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    #[inline]
    pub(super) fn map<T>(self, with: impl FnOnce(R) -> T) -> Poll<T> {
        match self {
            Self::Empty => Poll::Empty,
            Self::Request(request) => Poll::Request(with(request)),
            Self::Printed(text) => Poll::Printed(text),
            Self::ProtocolError(reason) => Poll::ProtocolError(reason),
        }
    }
}

/// Finds requests. One thread at a time has it.
pub(crate) trait PollWire: Send {
    /// What it finds: an owned request, or a request's words.
    type Request;

    /// Looks for a request and takes it. May miss one at first, and finds it
    /// at one of the next polls.
    fn poll(&mut self) -> Poll<Self::Request>;

    /// As [`poll`](Self::poll), but misses none: for the last poll before sleep.
    fn poll_all(&mut self) -> Poll<Self::Request> {
        self.poll()
    }

    /// Looks for what is printed and leaves requests where they are.
    fn poll_text(&mut self) -> Poll<Self::Request> {
        Poll::Empty
    }

    /// As [`poll`](Self::poll), but leaves what is printed where it is.
    fn poll_requests(&mut self) -> Poll<Self::Request> {
        self.poll()
    }
}
