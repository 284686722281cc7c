//! Copies from staging memory to the host, once the device has filled it.

use std::ptr::{NonNull, copy_nonoverlapping};
use std::sync::{Arc, Mutex};

use crate::base::lock::lock;
use crate::device::{DeviceError, Fault, Outcome};

/// A copy whose bytes are in staging memory once the device reaches it.
pub(in crate::device) struct PendingCopy<S> {
    /// Keeps the staging memory allocated.
    pub(in crate::device) staged: S,
    /// The position of the bytes in it.
    pub(in crate::device) at: NonNull<u8>,
    pub(in crate::device) to: *mut u8,
    pub(in crate::device) len: usize,
}

// SAFETY: `staged` keeps `at` allocated, and may be sent; `to` is the memory of the copy's caller,
// who leaves it alone until the copy has been waited for, on any thread.
unsafe impl<S: Send> Send for PendingCopy<S> {}

/// The copies that precede some place in a stream, until they are finished; or the reason why they
/// never will be.
pub(in crate::device) struct Readback<S>(Mutex<Result<Vec<PendingCopy<S>>, Fault>>);

impl<S> Readback<S> {
    pub(in crate::device) fn new(copies: Vec<PendingCopy<S>>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Ok(copies))))
    }

    /// Copies the bytes to their targets, the first time.
    ///
    /// # Errors
    /// The reason why they were given up: their targets may be gone.
    ///
    /// # Safety
    /// The device has finished the copies, each of which has `len` bytes at `at`. No one has waited
    /// for them before, unless this or [`give_up`](Self::give_up) was called then.
    pub(in crate::device) unsafe fn finish(&self) -> Outcome {
        // The lock is held while copying, so that a second caller finds the bytes copied.
        let mut copies = lock(&self.0);
        let copies = copies.as_mut().map_err(|why| why.clone())?;
        for PendingCopy {
            staged,
            at,
            to,
            len,
        } in copies.drain(..)
        {
            // SAFETY: by the caller's promise, `len` bytes are staged, and `to` belongs to the copy
            // until it has been waited for, which happens here.
            unsafe { copy_nonoverlapping(at.as_ptr(), to, len) };
            drop(staged);
        }
        Ok(())
    }

    /// Whether there is nothing left to copy.
    pub(in crate::device) fn is_over(&self) -> bool {
        lock(&self.0).as_ref().map_or(true, Vec::is_empty)
    }

    /// Makes waiting for the bytes fail, unless they are copied already. Their targets may then be
    /// freed: no later result of the device is copied there.
    pub(in crate::device) fn give_up(&self, why: &Fault) {
        let mut copies = lock(&self.0);
        if copies.as_ref().is_ok_and(|copies| !copies.is_empty()) {
            *copies = Err(why.clone());
        }
    }
}

/// The work for the time when the device reaches a place in a queue.
pub(in crate::device) struct Arrival<S> {
    /// Copies to finish.
    pub(in crate::device) readbacks: Vec<Arc<Readback<S>>>,
    /// The reason why the place counts as failed, if there is one: not before it is reached, since a
    /// waiter that finds it failed does not wait for the copies before it.
    pub(in crate::device) failed: Option<Fault>,
}

impl<S> Default for Arrival<S> {
    fn default() -> Self {
        Self {
            readbacks: Vec::new(),
            failed: None,
        }
    }
}

impl<S> Arrival<S> {
    /// Called when the device has reached the place, or never will; returns the outcome.
    ///
    /// # Safety
    /// If `how` is success, as for [`Readback::finish`], for all copies.
    pub(in crate::device) unsafe fn reached(&self, how: Result<(), DeviceError>) -> Outcome {
        let mut how = how.map_err(|error| Fault::from(&error));
        for readback in &self.readbacks {
            match &how {
                // SAFETY: the caller's promise.
                Ok(()) => how = unsafe { readback.finish() },
                Err(why) => readback.give_up(why),
            }
        }
        how.and_then(|()| self.failed.clone().map_or(Ok(()), Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readback(staged: &Arc<[u8]>, to: &mut [u8]) -> Arc<Readback<Arc<[u8]>>> {
        Readback::new(vec![PendingCopy {
            at: NonNull::new(staged.as_ptr().cast_mut()).unwrap(),
            staged: Arc::clone(staged),
            to: to.as_mut_ptr(),
            len: to.len(),
        }])
    }

    #[test]
    fn bytes_are_copied_once() {
        let (staged, mut to) = (Arc::from([1, 2, 3]), [0; 3]);
        let readback = readback(&staged, &mut to);
        assert!(!readback.is_over());
        // SAFETY: both sides have three bytes and are valid.
        unsafe { readback.finish() }.unwrap();
        assert_eq!((to, readback.is_over()), ([1, 2, 3], true));
        // The memory has another use by now.
        to = [7; 3];
        readback.give_up(&"they are copied".into());
        // SAFETY: the copies are finished, so nothing is accessed.
        unsafe { readback.finish() }.unwrap();
        assert_eq!((to, Arc::strong_count(&staged)), ([7; 3], 1));
    }

    #[test]
    fn what_is_given_up_is_never_copied() {
        let (staged, mut to) = (Arc::from([1, 2, 3]), [0; 3]);
        let readback = readback(&staged, &mut to);
        readback.give_up(&"the device is lost".into());
        readback.give_up(&"the first reason counts".into());
        assert!(readback.is_over());
        // SAFETY: both sides have three bytes and are valid.
        let finished = unsafe { readback.finish() };
        assert_eq!(finished.unwrap_err(), Fault::from("the device is lost"));
        assert_eq!((to, Arc::strong_count(&staged)), ([0; 3], 1));
    }
}
