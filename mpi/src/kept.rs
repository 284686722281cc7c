//! Requests that kernels will wait for, and the memory of messages.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::MpiError;

/// Maximum bytes of all messages that are under way, except those that a call receives itself: their memory is at most as
/// much as that call maps, which the host limits.
const MOST: u64 = 4 << 30;

/// Maximum bytes of a message beside its data: MPI's own, and an entry here.
const OVERHEAD: u64 = 512;

/// Requests of type `R`, with numbers.
pub(crate) struct Kept<R> {
    requests: HashMap<u64, R>,
    /// The number of the next.
    next: u64,
    /// Bytes of all reservations.
    bytes: Arc<AtomicU64>,
}

impl<R> Default for Kept<R> {
    fn default() -> Self {
        Self {
            requests: HashMap::new(),
            next: 1,
            bytes: Arc::default(),
        }
    }
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

impl<R> Kept<R> {
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
    pub(crate) fn add(&mut self, request: R) -> u64 {
        let number = self.next;
        self.next += 1;
        self.requests.insert(number, request);
        number
    }

    /// The request of that number.
    pub(crate) fn find(&self, number: u64) -> Option<&R> {
        self.requests.get(&number)
    }

    /// Removes and returns the request of that number.
    pub(crate) fn take(&mut self, number: u64) -> Result<R, MpiError> {
        self.requests
            .remove(&number)
            .ok_or(MpiError::NoRequest(number))
    }

    /// Removes and returns all.
    pub(crate) fn remove_all(&mut self) -> HashMap<u64, R> {
        mem::take(&mut self.requests)
    }
}
