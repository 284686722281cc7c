//! Requests that kernels will wait for.

use std::collections::HashMap;

use crate::error::MpiError;

/// Maximum bytes of all requests.
const MOST: u64 = 4 << 30;

/// Maximum bytes of a request beside its message: MPI's own, and an entry here.
const OVERHEAD: u64 = 512;

/// Requests of type `R`, with numbers.
pub(crate) struct Kept<R> {
    requests: HashMap<u64, (R, u64)>,
    /// The number of the next.
    next: u64,
    /// Bytes of all kept and reserved requests.
    bytes: u64,
}

impl<R> Default for Kept<R> {
    fn default() -> Self {
        Self {
            requests: HashMap::new(),
            next: 1,
            bytes: 0,
        }
    }
}

/// Memory for a request that is about to be kept.
#[must_use]
pub(crate) struct Reserved(u64);

impl<R> Kept<R> {
    /// Reserves memory for a request with a message of that many bytes.
    pub(crate) fn reserve(&mut self, message: u64) -> Result<Reserved, MpiError> {
        let all = message
            .checked_add(OVERHEAD)
            .and_then(|bytes| self.bytes.checked_add(bytes));
        let Some(all) = all.filter(|&all| all <= MOST) else {
            return Err(MpiError::TooManyRequests {
                count: self.requests.len(),
                bytes: self.bytes,
                message,
                most: MOST,
            });
        };
        self.bytes = all;
        Ok(Reserved(message + OVERHEAD))
    }

    /// Gives back memory, of a request that could not begin.
    pub(crate) fn release(&mut self, reserved: Reserved) {
        self.bytes -= reserved.0;
    }

    /// Keeps a request until a kernel waits for it; returns its number.
    pub(crate) fn add(&mut self, request: R, reserved: Reserved) -> u64 {
        let number = self.next;
        self.next += 1;
        self.requests.insert(number, (request, reserved.0));
        number
    }

    /// Removes and returns the request of that number.
    pub(crate) fn take(&mut self, number: u64) -> Result<R, MpiError> {
        let taken = self.requests.remove(&number);
        let (request, bytes) = taken.ok_or(MpiError::NoRequest(number))?;
        self.bytes -= bytes;
        Ok(request)
    }

    /// Drops all.
    pub(crate) fn clear(&mut self) {
        self.bytes -= self
            .requests
            .drain()
            .map(|(_, (_, bytes))| bytes)
            .sum::<u64>();
    }
}
