//! Copies from a device on the last bit of their way: out of the memory that they are staged in.

use std::ptr::{NonNull, copy_nonoverlapping};
use std::sync::{Arc, Mutex};

use crate::base::lock::lock;

/// A copy whose bytes are staged once the device gets there.
pub(in crate::device) struct Arriving<S> {
    /// Keeps the memory that they are staged in.
    pub(in crate::device) staged: S,
    /// Where in that they are.
    pub(in crate::device) at: NonNull<u8>,
    pub(in crate::device) to: *mut u8,
    pub(in crate::device) len: usize,
}

// SAFETY: `at` is kept by `staged`, which may be sent; `to` is the memory of the copy's caller,
// who leaves it alone until the copy has been waited for, on whatever thread that is.
unsafe impl<S: Send> Send for Arriving<S> {}

/// What has arrived when a stream gets to some place: copies until they have landed, or why
/// they never will.
pub(in crate::device) struct Landing<S>(Mutex<Result<Vec<Arriving<S>>, String>>);

impl<S> Landing<S> {
    pub(in crate::device) fn new(copies: Vec<Arriving<S>>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Ok(copies))))
    }

    /// Brings the bytes to where they belong, the first time.
    ///
    /// # Errors
    /// Why they were given up: their targets may be gone.
    ///
    /// # Safety
    /// The device is done with the copies, each of which has `len` bytes at `at`. Nobody has
    /// waited for them before, unless this or [`give_up`](Self::give_up) has been called then.
    pub(in crate::device) unsafe fn land(&self) -> Result<(), String> {
        // Locked meanwhile: who comes second finds the bytes there.
        let mut copies = lock(&self.0);
        let copies = copies.as_mut().map_err(|why| why.clone())?;
        for Arriving {
            staged,
            at,
            to,
            len,
        } in copies.drain(..)
        {
            // SAFETY: by the caller's promise, so many bytes are staged, and `to` is the copy's
            // until it has been waited for, which is what happens here.
            unsafe { copy_nonoverlapping(at.as_ptr(), to, len) };
            drop(staged);
        }
        Ok(())
    }

    /// Whether there is nothing left to bring.
    pub(in crate::device) fn is_over(&self) -> bool {
        lock(&self.0).as_ref().map_or(true, Vec::is_empty)
    }

    /// Who waits for the bytes learns that they do not come, and may free their targets: not
    /// even a device that copies them later brings them there.
    pub(in crate::device) fn give_up(&self, why: &str) {
        let mut copies = lock(&self.0);
        if copies.as_ref().is_ok_and(|copies| !copies.is_empty()) {
            *copies = Err(why.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landing(staged: &Arc<[u8]>, to: &mut [u8]) -> Arc<Landing<Arc<[u8]>>> {
        Landing::new(vec![Arriving {
            at: NonNull::new(staged.as_ptr().cast_mut()).unwrap(),
            staged: Arc::clone(staged),
            to: to.as_mut_ptr(),
            len: to.len(),
        }])
    }

    #[test]
    fn bytes_land_once() {
        let (staged, mut to) = (Arc::from([1, 2, 3]), [0; 3]);
        let landing = landing(&staged, &mut to);
        assert!(!landing.is_over());
        // SAFETY: both sides have three bytes, and are there.
        unsafe { landing.land() }.unwrap();
        assert_eq!((to, landing.is_over()), ([1, 2, 3], true));
        // Somebody has got the memory by now.
        to = [7; 3];
        landing.give_up("they have landed");
        // SAFETY: as above.
        unsafe { landing.land() }.unwrap();
        assert_eq!((to, Arc::strong_count(&staged)), ([7; 3], 1));
    }

    #[test]
    fn what_is_given_up_never_lands() {
        let (staged, mut to) = (Arc::from([1, 2, 3]), [0; 3]);
        let landing = landing(&staged, &mut to);
        landing.give_up("the device is lost");
        landing.give_up("the first reason counts");
        assert!(landing.is_over());
        // SAFETY: both sides have three bytes, and are there.
        let landed = unsafe { landing.land() };
        assert_eq!(landed.unwrap_err(), "the device is lost");
        assert_eq!((to, Arc::strong_count(&staged)), ([0; 3], 1));
    }
}
