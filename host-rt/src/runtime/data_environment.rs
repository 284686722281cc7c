//! The table of host data that is mapped to a device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::on_device::OnDevice;
use super::transfers::Counts;
use super::{Result, RuntimeError};
use crate::base::ranges::{AddrRange, Found, RangeMap};

/// The host data that guards have mapped to a device. Temporary copies for a launch are not in it.
#[derive(Default)]
pub(crate) struct DataEnvironment {
    entries: Mutex<RangeMap<MappedEntry>>,
    pub(crate) counts: Counts,
}

struct MappedEntry {
    on_device: Arc<OnDevice>,
    /// How the first guard borrows the data.
    borrow: Borrow,
    /// The range that each guard has mapped. A range that no guard holds any more counts as
    /// absent, because the host may have changed it.
    guards: Vec<AddrRange>,
}

impl MappedEntry {
    /// Whether a guard holds all of `range`, which lies in the entry. If a guard holds only a part,
    /// that guard's range is the error.
    fn has(&self, range: AddrRange) -> Result<bool, AddrRange> {
        if self.guards.iter().any(|guard| guard.contains(range)) {
            return Ok(true);
        }
        match self.guards.iter().find(|guard| guard.overlaps(range)) {
            Some(&guard) => Err(guard),
            None => Ok(false),
        }
    }
}

/// How a guard borrows its data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Borrow {
    Shared,
    Exclusive,
}

/// A guard's share of an entry.
pub(crate) struct MappedShare {
    pub(crate) on_device: Arc<OnDevice>,
    /// The guard's range.
    range: AddrRange,
    /// The start of the entry's range.
    start: usize,
    /// Whether this guard has created the entry.
    pub(crate) is_first: bool,
}

impl DataEnvironment {
    /// Locks the table for look-ups.
    pub(crate) fn read(&self) -> DataReader<'_> {
        DataReader(self.lock())
    }

    /// A share of the entry that contains `range`. If there is no such entry, `make` makes the
    /// copy for a new one, and has finished copying when it returns. The guard borrows `range` as
    /// `borrow` states; `what` names the data in errors.
    pub(crate) fn share(
        &self,
        range: AddrRange,
        borrow: Borrow,
        what: &str,
        make: impl FnOnce() -> Result<Arc<OnDevice>>,
    ) -> Result<MappedShare> {
        // The lock is held until the copy is made, so that no launch finds incomplete data.
        let mut entries = self.lock();
        if borrow == Borrow::Exclusive {
            drop_forgotten(&mut entries, range);
        }
        match entries.find_mut(range) {
            Found::Inside(at, entry) => match entry.has(range) {
                Ok(true) => {
                    entry.guards.push(range);
                    Ok(MappedShare {
                        on_device: Arc::clone(&entry.on_device),
                        range,
                        start: at.start(),
                        is_first: false,
                    })
                }
                Ok(false) => Err(straddles(what.to_owned(), range, at)),
                Err(guard) => Err(straddles(what.to_owned(), range, guard)),
            },
            Found::Partly(present, _) => Err(straddles(what.to_owned(), range, present)),
            Found::Absent => {
                let on_device = make()?;
                let entry = MappedEntry {
                    on_device: Arc::clone(&on_device),
                    borrow,
                    guards: vec![range],
                };
                entries.insert(range, entry)?;
                Ok(MappedShare {
                    on_device,
                    range,
                    start: range.start(),
                    is_first: true,
                })
            }
        }
    }

    /// Releases a share. The entry is removed with its last share, or at once if `for_all`.
    pub(crate) fn release(&self, share: &MappedShare, for_all: bool) {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(share.start) else {
            return;
        };
        let mut guards = entry.guards.iter();
        if let Some(at) = guards.position(|&guard| guard == share.range) {
            entry.guards.swap_remove(at);
        }
        if for_all || entry.guards.is_empty() {
            let gone = entries.remove(share.start);
            // The lock is not held here, because freeing takes time. A launch that uses the memory
            // keeps it for longer.
            drop(entries);
            drop(gone);
        }
    }

    /// Ignores poisoning, because no panic leaves the table half changed.
    fn lock(&self) -> MutexGuard<'_, RangeMap<MappedEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`DataEnvironment`] locked for look-ups.
pub(crate) struct DataReader<'a>(MutexGuard<'a, RangeMap<MappedEntry>>);

impl DataReader<'_> {
    /// Drops leaked guards in `range`, which the caller borrows exclusively. Call this for all such
    /// ranges before the first look-up.
    pub(crate) fn drop_forgotten(&mut self, range: AddrRange) {
        drop_forgotten(&mut self.0, range);
    }

    /// The copy that contains `range`, if there is one. `what` names the data in errors.
    pub(crate) fn find(
        &self,
        range: AddrRange,
        what: impl FnOnce() -> String,
    ) -> Result<Option<Arc<OnDevice>>> {
        match self.0.find(range) {
            Found::Inside(_, entry) => match entry.has(range) {
                Ok(true) => Ok(Some(Arc::clone(&entry.on_device))),
                Ok(false) => Ok(None),
                Err(guard) => Err(straddles(what(), range, guard)),
            },
            Found::Absent => Ok(None),
            Found::Partly(present, _) => Err(straddles(what(), range, present)),
        }
    }
}

/// Removes guards of shared borrows that overlap `range`. Because the caller borrows `range`
/// exclusively, these guards were leaked, and their copies may be out of date.
///
/// Entries of exclusive borrows stay, because the caller may have borrowed `range` from their
/// guard.
fn drop_forgotten(entries: &mut RangeMap<MappedEntry>, range: AddrRange) {
    let shared = entries
        .overlapping(range)
        .filter(|(_, entry)| entry.borrow == Borrow::Shared);
    let starts: Vec<_> = shared.map(|(at, _)| at.start()).collect();
    for start in starts {
        if let Some(entry) = entries.get_mut(start) {
            entry.guards.retain(|guard| !guard.overlaps(range));
            if entry.guards.is_empty() {
                entries.remove(start);
            }
        }
    }
}

fn straddles(what: String, range: AddrRange, present: AddrRange) -> RuntimeError {
    RuntimeError::Straddles {
        what,
        range,
        present,
    }
}
