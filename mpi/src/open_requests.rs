//! Requests that kernels will wait for, and the memory of messages.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::MpiError;
use crate::receives::Receive;
use crate::run_to_end::RunToEnd;

/// Maximum bytes of all messages that are under way, except those that a call receives itself: their memory is at most as
/// much as that call maps, which the host limits.
const MOST: u64 = 4 << 30;

/// Maximum bytes of a message beside its data: MPI's own, and an entry here.
const OVERHEAD: u64 = 512;

/// A send, until MPI has let go of its data.
pub(crate) type Sending = RunToEnd<Result<(), MpiError>>;

/// A request that a kernel will wait for.
pub(crate) enum OpenRequest {
    Send(Sending),
    Receive(Receive, Reserved),
}

/// Requests with numbers.
#[derive(Default)]
pub(crate) struct OpenRequests {
    requests: HashMap<u64, OpenRequest>,
    /// The number of the last.
    last: u64,
    /// Bytes of all reservations.
    bytes: Arc<AtomicU64>,
}

/// Memory for a message, until this is dropped.
#[must_use]
pub(crate) struct Reserved {
    bytes: u64,
    all: Arc<AtomicU64>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // Relaxed: a number alone.
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl OpenRequests {
    /// Reserves memory for a message of that many bytes.
    pub(crate) fn reserve(&mut self, message: u64) -> Result<Reserved, MpiError> {
        // Relaxed: a number alone. Only this function adds, and `self` is exclusive.
        let reserved = self.bytes.load(Ordering::Relaxed);
        let bytes = message.saturating_add(OVERHEAD);
        if bytes > MOST - reserved {
            return Err(MpiError::TooManyRequests {
                bytes: reserved,
                message,
                most: MOST,
            });
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(Reserved {
            bytes,
            all: Arc::clone(&self.bytes),
        })
    }

    /// Keeps a request until a kernel waits for it; returns its number.
    pub(crate) fn add(&mut self, request: OpenRequest) -> u64 {
        self.last += 1;
        self.requests.insert(self.last, request);
        self.last
    }

    /// The request of that number.
    pub(crate) fn find(&self, number: u64) -> Option<&OpenRequest> {
        self.requests.get(&number)
    }

    /// Removes and returns the request of that number.
    pub(crate) fn take(&mut self, number: u64) -> Result<OpenRequest, MpiError> {
        self.requests
            .remove(&number)
            .ok_or(MpiError::NoRequest(number))
    }

    /// Removes and returns all.
    pub(crate) fn remove_all(&mut self) -> HashMap<u64, OpenRequest> {
        mem::take(&mut self.requests)
    }
}
