//! Addresses that represent tasks in dependences for libomp, and are not addresses of memory.
//!
//! libomp remembers an address until the parent ends. So addresses are reused when no task names
//! them any more: there are as many as concurrent tasks.

use std::sync::Mutex;

use crate::abi::libomp::Dependence;
use crate::locks::lock;

/// The first one: in the kernel's half of the address space.
const FIRST: usize = 1 << (usize::BITS - 1);

/// The distance between them, so that libomp's hash, which drops the lowest bits, distinguishes
/// them.
const APART: usize = 64;

struct Places {
    made: usize,
    free: Vec<usize>,
}

static PLACES: Mutex<Places> = Mutex::new(Places {
    made: 0,
    free: Vec::new(),
});

/// An address that is reserved until it is dropped.
pub(super) struct TaskAddress(usize);

impl TaskAddress {
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

impl Drop for TaskAddress {
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
        let held: Vec<_> = (0..10).map(|_| TaskAddress::new().0).collect();
        assert!(held.iter().all(|place| place % APART == 0));
        let (first, second) = (TaskAddress::new(), TaskAddress::new());
        assert_ne!(first.0, second.0);
        let made = lock(&PLACES).made;
        assert!(made < held.len(), "{made} places for one at a time");
    }
}
