//! Dependencies between tasks: OpenMP's rules for the storage locations of siblings.

use std::collections::HashMap;
use std::hash::Hash;

/// A task's access to a storage location that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// OpenMP's `in`: after earlier tasks that are not `In`.
    In,
    /// OpenMP's `out`: after all earlier tasks.
    Out,
    /// OpenMP's `inout`: as [`Out`](Self::Out).
    InOut,
    /// OpenMP's `mutexinoutset`: after earlier tasks that are not `MutexInOutSet`; tasks that are
    /// run one at a time.
    MutexInOutSet,
    /// OpenMP's `inoutset`: after earlier tasks that are not `InOutSet`.
    InOutSet,
}

impl Access {
    /// Whether consecutive tasks with this access do not wait for each other.
    fn is_shared(self) -> bool {
        !matches!(self, Self::Out | Self::InOut)
    }

    /// The combination of two accesses to one location.
    fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::InOut }
    }
}

/// A location's tasks: the last set of tasks with the same access. They wait for all of the set
/// before, and so for all earlier tasks.
struct Location<T> {
    access: Access,
    set: Vec<T>,
    before: Vec<T>,
    /// The length of `set` at which ended tasks are removed.
    full: usize,
}

/// Shorter sets are not cleaned up.
const FULL: usize = 16;

/// The locations that the children of one task depend on, for runtimes with their own tasks. A task
/// is represented by a value that increases with each added task.
pub struct Locations<T>(HashMap<usize, Location<T>>);

impl<T> Default for Locations<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// Merges the accesses to each location into one.
pub fn merged(accesses: &mut Vec<(usize, Access)>) {
    // Stable, so that no result depends on the order of a hash.
    accesses.sort_by_key(|&(address, _)| address);
    accesses.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.and(next.1);
        }
        same
    });
}

impl<T: Copy> Locations<T> {
    /// The tasks that a later one may come after.
    pub(super) fn tasks(&self) -> impl Iterator<Item = T> {
        let all = self.0.values();
        all.flat_map(|location| location.set.iter().chain(&location.before).copied())
    }
}

impl<T: Copy + Eq + Ord + Hash> Locations<T> {
    /// Adds a task, the youngest, with its [`merged`] accesses. Adds the tasks that it depends on
    /// to `after`, and forgets tasks that are not `needed` any more.
    pub fn add(
        &mut self,
        task: T,
        accesses: &[(usize, Access)],
        needed: impl Fn(T) -> bool,
        after: &mut Vec<T>,
    ) {
        for &(address, access) in accesses {
            let location = self.0.entry(address).or_insert_with(|| Location {
                access,
                set: Vec::new(),
                before: Vec::new(),
                full: FULL,
            });
            if location.access != access || !access.is_shared() {
                location.before = std::mem::take(&mut location.set);
                location.access = access;
                location.full = FULL;
            }
            location.before.retain(|&earlier| needed(earlier));
            after.extend(&location.before);
            if location.set.len() >= location.full {
                location.set.retain(|&earlier| needed(earlier));
                location.full = FULL.max(2 * location.set.len());
            }
            location.set.push(task);
        }
        after.sort_unstable();
        after.dedup();
    }
}

/// OpenMP's specification, for one location: whether `later` depends on `earlier`.
#[cfg(test)]
pub(super) fn waits(later: Access, earlier: Access) -> bool {
    use Access::{In, InOut, InOutSet, MutexInOutSet, Out};
    match later {
        In => matches!(earlier, Out | InOut | MutexInOutSet | InOutSet),
        Out | InOut => true,
        MutexInOutSet => matches!(earlier, In | Out | InOut | InOutSet),
        InOutSet => matches!(earlier, In | Out | InOut | MutexInOutSet),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Access; 5] = [
        Access::In,
        Access::Out,
        Access::InOut,
        Access::MutexInOutSet,
        Access::InOutSet,
    ];

    /// All direct and indirect dependencies of each task.
    fn closed(direct: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let mut all: Vec<Vec<bool>> = Vec::new();
        for after in direct {
            let mut row = vec![false; direct.len()];
            for &earlier in after {
                row[earlier] = true;
                for (mine, theirs) in row.iter_mut().zip(&all[earlier]) {
                    *mine |= theirs;
                }
            }
            all.push(row);
        }
        all
    }

    proptest! {
        #[test]
        fn orders_what_the_text_orders(
            tasks in prop::collection::vec(
                prop::collection::vec((0..4usize, prop::sample::select(&ALL[..])), 0..4), 0..40)
        ) {
            let mut locations = Locations::default();
            let (mut ours, mut text) = (Vec::new(), Vec::new());
            let mut merged_tasks: Vec<Vec<(usize, Access)>> = Vec::new();
            for (number, mut accesses) in tasks.into_iter().enumerate() {
                merged(&mut accesses);
                let mut after = Vec::new();
                locations.add(number, &accesses, |_| true, &mut after);
                ours.push(after);
                let after = merged_tasks.iter().enumerate().filter(|(_, earlier)| {
                    accesses.iter().any(|&(address, access)| {
                        earlier.iter().any(|&(other, theirs)| {
                            address == other && waits(access, theirs)
                        })
                    })
                });
                text.push(after.map(|(earlier, _)| earlier).collect());
                merged_tasks.push(accesses);
            }
            prop_assert_eq!(closed(&ours), closed(&text));
        }
    }

    #[test]
    fn what_has_ended_is_forgotten() {
        let mut locations = Locations::default();
        for reader in 0..100_000 {
            locations.add(reader, &[(0, Access::In)], |_| false, &mut Vec::new());
        }
        assert!(locations.0[&0].set.len() <= FULL);
    }
}
