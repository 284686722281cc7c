//! The counts of a warp.

use std::collections::{HashMap, HashSet};

use super::executed::{Executed, LaneMask, MAX_LANES, Site, lanes_of};
use super::repetition::{Change, FirstReads, LastExecutions, LastReads, differing};
use crate::counts::{Calls, Costs, Counts};
use crate::traffic::Traffic;

/// The scope of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FenceScope {
    /// A block.
    Block,
    /// The device.
    Device,
    /// The device and the host.
    System,
}

/// Counts of the whole launch, and of calls alone.
#[derive(Clone, Copy, Debug, Default)]
struct Pair<T> {
    launch: T,
    calls: T,
}

impl<T> Pair<T> {
    /// Changes the counts of the launch, and with `in_call` those of calls.
    fn each(&mut self, in_call: bool, change: impl Fn(&mut T)) {
        change(&mut self.launch);
        if in_call {
            change(&mut self.calls);
        }
    }
}

/// The reads of one instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Reads {
    traffic: Traffic,
    /// Waits for one of them.
    serial: u64,
    /// Such waits that end an exchange, if the instruction polls.
    exchanges: u64,
}

#[derive(Clone, Debug, Default)]
struct SiteReads {
    reads: Pair<Reads>,
    polls: bool,
    /// An instruction that polls if this one does: its first poll.
    peeled: Option<Site>,
}

/// A read whose value has not arrived.
#[derive(Debug)]
struct Outstanding<F> {
    fills: F,
    lanes: LaneMask,
    /// The stores of each lane before it.
    stores: [u64; MAX_LANES],
    read: Awaited,
}

/// A read, as it is counted when a group waits for it.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    site: Site,
    is_exchange: bool,
}

/// The counts of a warp. `F` is what a read fills, by which a wait finds it.
#[derive(Debug)]
pub struct Recorder<F> {
    counts: Pair<Counts>,
    reads: HashMap<Site, SiteReads>,
    /// Of instructions that access mapped memory, acquire or release.
    executions: HashMap<Site, LastExecutions>,
    first_reads: FirstReads,
    last_reads: LastReads,
    /// Stores of each lane to mapped memory, and atomic operations that changed it.
    stores: [u64; MAX_LANES],
    /// Time of the last of these.
    stored_at: [u64; MAX_LANES],
    /// The number of instructions so far.
    time: u64,
    /// Those stores that have reached memory for certain.
    arrived: [u64; MAX_LANES],
    warp_calls: u64,
    lane_calls: u64,
    outstanding: Vec<Outstanding<F>>,
}

impl<F> Default for Recorder<F> {
    fn default() -> Self {
        Self {
            counts: Pair::default(),
            reads: HashMap::new(),
            executions: HashMap::new(),
            first_reads: FirstReads::default(),
            last_reads: LastReads::default(),
            stores: [0; MAX_LANES],
            stored_at: [0; MAX_LANES],
            time: 0,
            arrived: [0; MAX_LANES],
            warp_calls: 0,
            lane_calls: 0,
            outstanding: Vec::new(),
        }
    }
}

impl<F> Recorder<F> {
    /// Counts a call by `lanes`.
    pub fn enter_call(&mut self, lanes: LaneMask) {
        self.warp_calls += 1;
        self.lane_calls += u64::from(lanes.count_ones());
    }

    /// Counts an instruction, which `lanes` lanes execute.
    pub fn count_instruction(&mut self, call: u32, lanes: u32) {
        self.time += 1;
        self.counts.each(call != 0, |counts| {
            counts.warp_instructions += 1;
            counts.lane_instructions += u64::from(lanes);
        });
    }

    /// Notes the execution of an instruction that accesses mapped memory, acquires or releases. Returns
    /// what has changed since the last one.
    pub fn note_execution(&mut self, executed: &Executed<'_>, is_read: bool) -> Change {
        let last = self.executions.entry(executed.site).or_default();
        let change = last.note(executed, &self.stores);
        if !is_read {
            return change;
        }
        let first = self.first_reads.note(executed, &self.stores);
        let Some(peeled) = first.filter(|&site| site != executed.site) else {
            return change;
        };
        self.reads.entry(executed.site).or_default().peeled = Some(peeled);
        change.min(Change::Instruction)
    }

    /// Counts a read of mapped memory, of `bytes` by each lane.
    pub fn count_read(&mut self, executed: &Executed<'_>, bytes: u32, change: Change) {
        let accesses = executed.accesses(bytes);
        let site = self.reads.entry(executed.site).or_default();
        site.reads
            .each(executed.call != 0, |reads| reads.traffic.add(&accesses));
        site.polls |= change == Change::Nothing;
    }

    /// Notes that a read is outstanding.
    pub fn note_outstanding(&mut self, executed: &Executed<'_>, fills: F, change: Change) {
        let is_first = self.last_reads.note(executed, self.time, &self.stored_at);
        self.outstanding.push(Outstanding {
            fills,
            lanes: executed.active,
            stores: self.stores,
            read: Awaited {
                site: executed.site,
                is_exchange: is_first && change == Change::StoreOrCall,
            },
        });
    }

    /// Counts a store to mapped memory, of `bytes` by each lane.
    pub fn count_store(&mut self, executed: &Executed<'_>, bytes: u32) {
        let accesses = executed.accesses(bytes);
        self.counts
            .each(executed.call != 0, |counts| counts.stores.add(&accesses));
        self.note_stores(executed.mapped);
    }

    /// Counts an atomic operation on mapped memory, of `bytes` by each lane: one that is repeated is a
    /// read.
    pub fn count_atomic(&mut self, executed: &Executed<'_>, bytes: u32, change: Change) {
        if change.is_repetition() {
            self.count_read(executed, bytes, change);
            return;
        }
        let accesses = executed.accesses(bytes);
        self.counts
            .each(executed.call != 0, |counts| counts.atomics.add(&accesses));
    }

    /// Counts an atomic operation on the device's own global memory.
    pub fn count_device_atomic(&mut self, call: u32) {
        self.counts
            .each(call != 0, |counts| counts.device_atomics += 1);
    }

    /// Notes that `lanes` have changed mapped memory.
    pub fn note_stores(&mut self, lanes: LaneMask) {
        for lane in lanes_of(lanes) {
            self.stores[lane] += 1;
            self.stored_at[lane] = self.time;
        }
    }

    /// Whether reads are outstanding.
    #[must_use]
    pub fn has_outstanding(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// The destinations of the outstanding reads.
    pub fn fills_mut(&mut self) -> impl Iterator<Item = &mut F> {
        self.outstanding.iter_mut().map(|read| &mut read.fills)
    }

    /// Waits if the active lanes have made a read that fills what the instruction uses. Returns whether
    /// they have.
    pub fn wait_for(&mut self, executed: &Executed<'_>, is_used: impl Fn(&F) -> bool) -> bool {
        let mut reads = self.outstanding.iter().rev();
        let last = reads.find(|read| read.lanes & executed.active != 0 && is_used(&read.fills));
        let read = last.map(|read| read.read);
        if let Some(read) = read {
            self.wait(executed, read);
        }
        read.is_some()
    }

    /// Waits for all reads of the group.
    pub fn wait_for_all(&mut self, executed: &Executed<'_>) {
        let mut reads = self.outstanding.iter().rev();
        let last = reads.find(|read| read.lanes & executed.lanes != 0);
        if let Some(read) = last.map(|read| read.read) {
            self.wait(executed, read);
        }
    }

    /// The group waits for a read. Its other reads have arrived, too.
    fn wait(&mut self, executed: &Executed<'_>, read: Awaited) {
        let reads = &mut self.reads.entry(read.site).or_default().reads;
        reads.each(executed.call != 0, |reads| {
            reads.serial += 1;
            reads.exchanges += u64::from(read.is_exchange);
        });
        self.outstanding.retain_mut(|other| {
            for lane in lanes_of(other.lanes & executed.lanes) {
                self.arrived[lane] = self.arrived[lane].max(other.stores[lane]);
            }
            other.lanes &= !executed.lanes;
            other.lanes != 0
        });
    }

    /// Counts an acquire that invalidates an L1 cache.
    pub fn count_l1_drop(&mut self, call: u32) {
        self.counts.each(call != 0, |counts| counts.l1_drops += 1);
    }

    /// Waits until the stores of the active lanes have reached mapped memory. Returns whether some have
    /// not yet, as far as the group knows.
    pub fn wait_for_stores(&mut self, executed: &Executed<'_>) -> bool {
        let waits = differing(executed.active, &self.arrived, &self.stores);
        for lane in lanes_of(executed.active) {
            self.arrived[lane] = self.stores[lane];
        }
        waits
    }

    /// Counts a fence, and whether it waits for stores to mapped memory.
    pub fn count_fence(&mut self, call: u32, scope: FenceScope, waits: bool) {
        self.counts.each(call != 0, |counts| {
            match scope {
                FenceScope::Block => counts.fences.cta += 1,
                FenceScope::Device => counts.fences.gpu += 1,
                FenceScope::System => counts.fences.sys += 1,
            }
            counts.store_fences += u64::from(waits);
        });
    }

    /// Adds the counts of other warps.
    pub fn add<G>(&mut self, other: Recorder<G>) {
        self.counts.launch += other.counts.launch;
        self.counts.calls += other.counts.calls;
        self.warp_calls += other.warp_calls;
        self.lane_calls += other.lane_calls;
        for (site, theirs) in other.reads {
            let ours = self.reads.entry(site).or_default();
            ours.polls |= theirs.polls;
            ours.peeled = ours.peeled.or(theirs.peeled);
            for (to, from) in [
                (&mut ours.reads.launch, theirs.reads.launch),
                (&mut ours.reads.calls, theirs.reads.calls),
            ] {
                to.traffic += from.traffic;
                to.serial += from.serial;
                to.exchanges += from.exchanges;
            }
        }
    }

    /// The result, for calls of the function `entry`.
    #[must_use]
    pub fn costs(&self, entry: &str) -> Costs {
        let Pair {
            mut launch,
            mut calls,
        } = self.counts;
        let polling = self.reads.values().filter(|site| site.polls);
        let peeled: HashSet<_> = polling.filter_map(|site| site.peeled).collect();
        for (place, site) in &self.reads {
            for (counts, reads) in [
                (&mut launch, site.reads.launch),
                (&mut calls, site.reads.calls),
            ] {
                if site.polls || peeled.contains(place) {
                    counts.polls += reads.traffic;
                    counts.serial_polls += reads.serial;
                    counts.exchanges += reads.exchanges;
                } else {
                    counts.loads += reads.traffic;
                    counts.serial_reads += reads.serial;
                }
            }
        }
        Costs {
            launch,
            calls: Calls {
                entry: entry.to_owned(),
                warp_calls: self.warp_calls,
                lane_calls: self.lane_calls,
                counts: calls,
            },
        }
    }
}
