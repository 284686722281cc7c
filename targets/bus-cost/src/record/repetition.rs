//! Instructions that are repeated, and the first reads of words.

use std::collections::HashMap;

use super::executed::{Executed, LaneMask, MAX_LANES, Site, lanes_of};

/// The greatest change since the last execution of an instruction, in any lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing: it is repeated.
    Nothing,
    /// Another instruction has read the same words meanwhile.
    Instruction,
    /// The address.
    Address,
    /// The lane has stored to mapped memory, or another call has begun.
    StoreOrCall,
}

impl Change {
    /// Whether the instruction polls or spins, or continues a poll by another one.
    #[must_use]
    pub fn is_repetition(self) -> bool {
        self <= Self::Instruction
    }
}

/// The last execution of an instruction, by lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastExecutions([Option<Execution>; MAX_LANES]);

impl Default for LastExecutions {
    fn default() -> Self {
        Self([None; MAX_LANES])
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Execution {
    call: u32,
    /// 0 for a fence.
    address: u64,
    /// The lane's stores to mapped memory so far.
    stores: u64,
}

impl LastExecutions {
    /// Notes an execution. Returns what has changed since the last one.
    pub(super) fn note(&mut self, executed: &Executed<'_>, stores: &[u64; MAX_LANES]) -> Change {
        let mut change = Change::Nothing;
        for lane in lanes_of(executed.active) {
            let now = Execution {
                call: executed.call,
                address: executed.address(lane),
                stores: stores[lane],
            };
            change = change.max(match self.0[lane].replace(now) {
                Some(last) if last == now => Change::Nothing,
                Some(last) if (last.call, last.stores) == (now.call, now.stores) => Change::Address,
                _ => Change::StoreOrCall,
            });
        }
        change
    }
}

/// The first read of a mapped word since its lane has stored to mapped memory, in a call.
#[derive(Clone, Copy, Debug)]
struct FirstRead {
    call: u32,
    stores: u64,
    site: Site,
}

/// First reads, by lane and address.
#[derive(Debug, Default)]
pub(super) struct FirstReads(HashMap<(usize, u64), FirstRead>);

impl FirstReads {
    /// Notes a read. Returns the instruction that was the first one to read the mapped words, if it is
    /// the same in all active lanes.
    pub(super) fn note(
        &mut self,
        executed: &Executed<'_>,
        stores: &[u64; MAX_LANES],
    ) -> Option<Site> {
        let mut sites = lanes_of(executed.mapped).map(|lane| {
            let now = FirstRead {
                call: executed.call,
                stores: stores[lane],
                site: executed.site,
            };
            let place = (lane, executed.address(lane));
            let first = self.0.entry(place).or_insert(now);
            if (first.call, first.stores) != (now.call, now.stores) {
                *first = now;
            }
            first.site
        });
        let first = sites.next();
        sites.fold(first, |first, site| first.filter(|&first| first == site))
    }
}

/// The last read of each mapped word by any lane: its call and its time.
#[derive(Debug, Default)]
pub(super) struct LastReads(HashMap<u64, (u32, u64)>);

impl LastReads {
    /// Notes a read at a time. Returns whether it is the first of some of its words since the lane's
    /// last store, which was at `stored_at`, or in its call.
    pub(super) fn note(
        &mut self,
        executed: &Executed<'_>,
        time: u64,
        stored_at: &[u64; MAX_LANES],
    ) -> bool {
        let mut is_first = false;
        for lane in lanes_of(executed.mapped) {
            let last = self.0.insert(executed.address(lane), (executed.call, time));
            is_first |= last.is_none_or(|(call, at)| call != executed.call || at < stored_at[lane]);
        }
        is_first
    }
}

/// The lanes of a mask whose counts differ.
pub(super) fn differing(mask: LaneMask, one: &[u64; MAX_LANES], other: &[u64; MAX_LANES]) -> bool {
    lanes_of(mask).any(|lane| one[lane] != other[lane])
}
