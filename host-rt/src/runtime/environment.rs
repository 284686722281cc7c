//! Which host data is on a device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::copies::Counts;
use super::on_device::OnDevice;
use super::{Error, Result};
use crate::base::ranges::{AddrRange, Found, RangeMap};

/// The host data that is on a device by intention, and not just for a launch.
#[derive(Default)]
pub(crate) struct Environment {
    entries: Mutex<RangeMap<Entry>>,
    pub(crate) counts: Counts,
}

struct Entry {
    on_device: Arc<OnDevice>,
    /// How the guard that made it had the data borrowed.
    borrow: Borrow,
    /// What each guard has mapped of it. What no guard has any more may have changed on the
    /// host: it counts as absent.
    guards: Vec<AddrRange>,
}

impl Entry {
    /// Whether a guard has `range`, which lies in the entry; as an error what one has of it.
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

/// How a guard has its data borrowed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Borrow {
    Shared,
    Exclusive,
}

/// A guard's share of an entry.
pub(crate) struct Share {
    pub(crate) on_device: Arc<OnDevice>,
    /// Its own range.
    range: AddrRange,
    /// Where the entry's begins.
    start: usize,
    /// Whether the entry came with it.
    pub(crate) is_first: bool,
}

impl Environment {
    /// Access for look-ups, which holds the lock.
    pub(crate) fn read(&self) -> Reader<'_> {
        Reader(self.lock())
    }

    /// A share of the entry that `range` lies in; where there is none, of the one that
    /// `make` makes, which has copied what is to be copied when it returns. The guard has
    /// `range` borrowed as `borrow` says.
    pub(crate) fn share(
        &self,
        range: AddrRange,
        borrow: Borrow,
        what: &str,
        make: impl FnOnce() -> Result<Arc<OnDevice>>,
    ) -> Result<Share> {
        // Locked until the copy is made: nobody finds data that is still on its way.
        let mut entries = self.lock();
        if borrow == Borrow::Exclusive {
            drop_forgotten(&mut entries, range);
        }
        match entries.find_mut(range) {
            Found::Inside(at, entry) => match entry.has(range) {
                Ok(true) => {
                    entry.guards.push(range);
                    Ok(Share {
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
                let entry = Entry {
                    on_device: Arc::clone(&on_device),
                    borrow,
                    guards: vec![range],
                };
                entries.insert(range, entry)?;
                Ok(Share {
                    on_device,
                    range,
                    start: range.start(),
                    is_first: true,
                })
            }
        }
    }

    /// Gives a share back; the entry goes with the last one, or now if `for_all`.
    pub(crate) fn give_back(&self, share: &Share, for_all: bool) {
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
            // Freeing takes its time; a launch may keep the memory for longer.
            drop(entries);
            drop(gone);
        }
    }

    /// A table is whole whatever panics.
    fn lock(&self) -> MutexGuard<'_, RangeMap<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An [`Environment`] locked for look-ups.
pub(crate) struct Reader<'a>(MutexGuard<'a, RangeMap<Entry>>);

impl Reader<'_> {
    /// To be called for all that is borrowed exclusively, before anything is looked up.
    pub(crate) fn drop_forgotten(&mut self, range: AddrRange) {
        drop_forgotten(&mut self.0, range);
    }

    /// What `range` lies in, if anything. `what` names it in errors.
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

/// Takes away guards of shared borrows in `range`, which is borrowed exclusively: so these
/// guards live no more, and were forgotten. What they had on the device may be out of date.
///
/// Entries of exclusive borrows stay: the exclusive borrow may be one of their guard.
fn drop_forgotten(entries: &mut RangeMap<Entry>, range: AddrRange) {
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

fn straddles(what: String, range: AddrRange, present: AddrRange) -> Error {
    Error::Straddles {
        what,
        range,
        present,
    }
}
