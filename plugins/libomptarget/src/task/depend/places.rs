//! Addresses that nobody has, which stand for tasks in what libomp is told.
//!
//! libomp keeps what it has been told of an address until the parent ends. So places are used
//! again, by tasks that begin when nobody names them any more: there are as many as there are
//! tasks at a time.

use std::sync::Mutex;

use crate::abi::libomp::Dependence;
use crate::locks::lock;

/// Where they begin: in the half of the addresses that is the kernel's.
const FIRST: usize = 1 << (usize::BITS - 1);

/// From one to the next, so that libomp's hash, which drops the lowest bits, tells them apart.
const APART: usize = 64;

struct Places {
    made: usize,
    free: Vec<usize>,
}

static PLACES: Mutex<Places> = Mutex::new(Places {
    made: 0,
    free: Vec::new(),
});

/// A place, for as long as somebody may name it.
pub(super) struct Place(usize);

impl Place {
    pub(super) fn new() -> Self {
        let mut places = lock(&PLACES);
        Self(places.free.pop().unwrap_or_else(|| {
            places.made += 1;
            FIRST + (places.made - 1) * APART
        }))
    }

    /// A dependence on it.
    pub(super) fn with(&self, flags: u8) -> Dependence {
        Dependence {
            address: self.0 as i64,
            bytes: 1,
            flags,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = lock(&PLACES);
        places.free.push(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let held: Vec<_> = (0..10).map(|_| Place::new().0).collect();
        assert!(held.iter().all(|place| place % APART == 0));
        let (first, second) = (Place::new(), Place::new());
        assert_ne!(first.0, second.0);
        let made = lock(&PLACES).made;
        assert!(made < held.len(), "{made} places for one at a time");
    }
}
