//! The `mbarrier` objects of a block. Source: the PTX ISA, "Parallel Synchronization and Communication
//! Instructions: mbarrier".
//!
//! An object's state is kept here. The word in shared memory is a copy of it, which shows whether the
//! program has stored something else there.

use std::collections::HashMap;

use crate::code::asynchronous::PENDING_BITS;
use crate::error::MbarrierError;

/// The largest count of threads, and of bytes.
pub(super) const MAX_COUNT: u64 = (1 << PENDING_BITS) - 1;

/// An object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mbarrier {
    /// The number of completed phases.
    phase: u64,
    /// Arrivals of a phase.
    expected: u64,
    /// Arrivals that are still missing in this phase.
    pending: u64,
    /// Bytes that are still missing.
    bytes: i64,
}

impl Mbarrier {
    /// The word in memory, which a thread also gets when it arrives.
    pub(super) fn state(&self) -> u64 {
        self.phase << PENDING_BITS | self.pending
    }

    /// Whether all threads have arrived, but not all bytes.
    pub(super) fn awaits_bytes(&self) -> bool {
        self.pending == 0 && self.bytes != 0
    }

    pub(super) fn pending(&self) -> u64 {
        self.pending
    }

    /// The threads do not expect one arrival of this phase that will come.
    pub(super) fn add_pending(&mut self) -> Result<(), MbarrierError> {
        self.pending = check_count(self.pending + 1)?;
        Ok(())
    }

    pub(super) fn expect_bytes(&mut self, bytes: u64) -> Result<(), MbarrierError> {
        self.change_bytes(bytes as u32 as i32 as i64)
    }

    /// Returns whether the phase is complete.
    pub(super) fn complete_bytes(&mut self, bytes: u64) -> Result<bool, MbarrierError> {
        self.change_bytes(-i64::from(bytes as u32 as i32))?;
        Ok(self.complete_if_done())
    }

    fn change_bytes(&mut self, by: i64) -> Result<(), MbarrierError> {
        self.bytes += by;
        if self.bytes.unsigned_abs() > MAX_COUNT {
            return Err(MbarrierError::Bytes { bytes: self.bytes });
        }
        Ok(())
    }

    /// Threads arrive. Returns whether the phase is complete.
    pub(super) fn arrive(&mut self, count: u64, drops: bool) -> Result<bool, MbarrierError> {
        check_count(count)?;
        if count > self.pending {
            let pending = self.pending;
            return Err(MbarrierError::Arrivals { count, pending });
        }
        self.pending -= count;
        if drops {
            self.expected -= count.min(self.expected);
        }
        Ok(self.complete_if_done())
    }

    fn complete_if_done(&mut self) -> bool {
        let is_done = self.pending == 0 && self.bytes == 0;
        if is_done {
            self.phase += 1;
            self.pending = self.expected;
        }
        is_done
    }

    /// Whether the phase of a state is complete.
    pub(super) fn has_passed(&self, state: u64) -> Result<bool, MbarrierError> {
        match self.phase.checked_sub(state >> PENDING_BITS) {
            Some(passed @ (0 | 1)) => Ok(passed == 1),
            _ => Err(MbarrierError::State { state }),
        }
    }

    /// Whether the last phase with this parity is complete.
    pub(super) fn has_passed_parity(&self, parity: u64) -> Result<bool, MbarrierError> {
        match parity {
            0 | 1 => Ok(self.phase & 1 != parity),
            _ => Err(MbarrierError::Parity { parity }),
        }
    }
}

fn check_count(count: u64) -> Result<u64, MbarrierError> {
    if (1..=MAX_COUNT).contains(&count) {
        Ok(count)
    } else {
        Err(MbarrierError::Count { count })
    }
}

/// The objects of a block, by their offsets in shared memory.
#[derive(Debug, Default)]
pub(super) struct Mbarriers {
    /// `None` for those that are invalid again.
    objects: HashMap<u64, Option<Mbarrier>>,
}

impl Mbarriers {
    /// Makes an object where the word is `word` now.
    pub(super) fn init(
        &mut self,
        at: u64,
        word: u64,
        count: u64,
    ) -> Result<Mbarrier, MbarrierError> {
        check_count(count)?;
        if let Some(Some(old)) = self.objects.get(&at)
            && old.state() == word
        {
            return Err(MbarrierError::Twice);
        }
        let object = Mbarrier {
            phase: 0,
            expected: count,
            pending: count,
            bytes: 0,
        };
        self.objects.insert(at, Some(object));
        Ok(object)
    }

    /// The object at an offset, where the word is `word` now.
    pub(super) fn get(&mut self, at: u64, word: u64) -> Result<&mut Mbarrier, MbarrierError> {
        match self.objects.get_mut(&at) {
            None => Err(MbarrierError::NotInitialised),
            Some(None) => Err(MbarrierError::Invalid),
            Some(Some(object)) if object.state() != word => Err(MbarrierError::Overwritten),
            Some(Some(object)) => Ok(object),
        }
    }

    pub(super) fn invalidate(&mut self, at: u64) {
        self.objects.insert(at, None);
    }
}
