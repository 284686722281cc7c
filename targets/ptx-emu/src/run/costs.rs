//! Counting what a warp does on the bus between device and host.
//!
//! A read of mapped memory takes a round trip over the bus. A group of lanes goes on until an
//! instruction uses a register that an outstanding read fills, or orders memory; then it waits, and
//! that is one *serial read*. The reads that were outstanding at that time arrive together.
//! Divergent groups are counted one by one, although a GPU overlaps their waits.
//!
//! An access or a fence is *repeated* if in every active lane its previous execution was in the same
//! call, with the same address, and the lane has not stored to mapped memory since: it polls or
//! spins. An atomic operation that changes nothing, such as a failed compare-and-swap, is no store.
//! How often an instruction is repeated depends on the speed of the host. So repeated fences,
//! acquires and atomic operations are not counted again, and reads of instructions that were repeated
//! at least once are counted as polls. That is known only at the end, so reads are counted by
//! instruction. Compilers peel the first poll off a loop, so an instruction that has read the same
//! words before, in the same call and without a store in between, polls, too.
//!
//! A system fence *waits for stores* if one of its lanes has stored to mapped memory, and has neither
//! executed a fence since, nor received the value of a read over the bus that it made after the store:
//! such a read arrives after the store has.
//!
//! An *exchange* is the first poll of its words after a store to mapped memory by a polling lane, or
//! in a call. Lanes that call the host one after another make an exchange each, and those that take
//! turns at polling the same words make one together.

use std::collections::{HashMap, HashSet};

use bus_cost::{Calls, Costs, Counts, Traffic};

use super::frame::FrameId;
use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::code::op::{Op, Pc, Reg, Scope, Semantics};
use crate::memory::{is_global, is_mapped};

/// An instruction: its function and its position there.
type Site = (u32, Pc);

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

/// The last execution of an instruction, by lane.
#[derive(Clone, Copy, Debug, Default)]
struct LastExecutions([Option<Execution>; LANES]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Execution {
    call: u32,
    /// 0 for a fence.
    address: u64,
    /// The lane's stores to mapped memory so far.
    stores: u64,
}

/// The first read of a mapped word since its lane has stored to mapped memory, in a call.
#[derive(Clone, Copy, Debug)]
struct FirstRead {
    call: u32,
    stores: u64,
    site: Site,
}

/// What has changed since the last execution of an instruction, in some lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// Nothing: it is repeated.
    Nothing,
    /// Another instruction has read the same words meanwhile.
    Instruction,
    Address,
    /// The lane has stored to mapped memory, or another call has begun.
    StoreOrCall,
}

impl LastExecutions {
    /// Notes an execution. Returns what has changed since the last one.
    fn note(&mut self, executed: &Executed<'_>, stores: &[u64; LANES]) -> Change {
        let mut change = Change::Nothing;
        for lane in lanes_of(executed.active) {
            let now = Execution {
                call: executed.call,
                address: executed.addresses.map_or(0, |addresses| addresses[lane]),
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

/// A read whose value has not arrived.
#[derive(Debug)]
struct Outstanding {
    frame: FrameId,
    lanes: Mask,
    registers: Box<[Reg]>,
    /// The stores of each lane before it.
    stores: [u64; LANES],
    read: Awaited,
}

/// What to count when a group waits for a read.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    site: Site,
    is_exchange: bool,
}

/// An executed instruction.
pub(super) struct Executed<'a> {
    pub(super) op: &'a Op,
    pub(super) site: Site,
    pub(super) frame: FrameId,
    /// The number of the call that it belongs to; 0 for none.
    pub(super) call: u32,
    /// The lanes of its group, and those that execute it.
    pub(super) lanes: Mask,
    pub(super) active: Mask,
    /// The generic addresses of an access to memory that may be global.
    pub(super) addresses: Option<Lanes>,
}

impl Executed<'_> {
    /// The active lanes whose address is in some kind of memory.
    fn lanes_in(&self, is_in: impl Fn(u64) -> bool) -> Mask {
        let Some(addresses) = &self.addresses else {
            return 0;
        };
        let lanes = lanes_of(self.active).filter(|&lane| is_in(addresses[lane]));
        lanes.fold(0, |mask, lane| mask | 1 << lane)
    }

    /// The accesses to mapped memory, of `bytes` each.
    fn mapped(&self, bytes: u32) -> Vec<(u64, u32)> {
        lanes_of(self.lanes_in(is_mapped))
            .filter_map(|lane| Some((self.addresses.as_ref()?[lane], bytes)))
            .collect()
    }
}

/// Whether an address is in the device's own global memory.
fn is_device(address: u64) -> bool {
    is_global(address) && !is_mapped(address)
}

/// The counts of some warps.
#[derive(Debug, Default)]
pub(super) struct CostRecorder {
    counts: Pair<Counts>,
    reads: HashMap<Site, SiteReads>,
    /// Of instructions that access mapped memory, acquire or release.
    executions: HashMap<Site, LastExecutions>,
    /// By lane and address.
    first_reads: HashMap<(usize, u64), FirstRead>,
    /// The last read of a mapped word by any lane: its call and its time.
    last_reads: HashMap<u64, (u32, u64)>,
    /// Stores of each lane to mapped memory, and atomic operations that changed it.
    stores: [u64; LANES],
    /// Time of the last of these.
    stored_at: [u64; LANES],
    /// The number of instructions so far.
    time: u64,
    /// Those stores that have reached memory for certain.
    arrived: [u64; LANES],
    warp_calls: u64,
    lane_calls: u64,
    outstanding: Vec<Outstanding>,
}

impl CostRecorder {
    /// Counts a call by `lanes`.
    pub(super) fn enter_call(&mut self, lanes: Mask) {
        self.warp_calls += 1;
        self.lane_calls += u64::from(lanes.count_ones());
    }

    /// Counts an instruction that is about to be executed by at least one lane.
    pub(super) fn record(&mut self, executed: &Executed<'_>) {
        self.time += 1;
        let in_call = executed.call != 0;
        let lanes = u64::from(executed.active.count_ones());
        self.counts.each(in_call, |counts| {
            counts.warp_instructions += 1;
            counts.lane_instructions += lanes;
        });
        self.wait_for_operands(executed);
        let is_mapped = executed.lanes_in(is_mapped) != 0;
        let change = if is_mapped || executed.op.is_ordered() {
            self.change(executed)
        } else {
            Change::StoreOrCall
        };
        let is_repeated = change <= Change::Instruction;
        match executed.op {
            Op::Load(load) => {
                if is_mapped {
                    let mapped = executed.mapped(load.bytes * load.ds.len() as u32);
                    self.read(executed, &mapped, change);
                    self.outstanding(executed, &load.ds, change);
                }
                self.acquire(
                    executed,
                    (load.semantics, load.scope),
                    is_mapped,
                    is_repeated,
                );
            }
            Op::Store(store) => {
                self.release(executed, (store.semantics, store.scope), is_repeated);
                if is_mapped {
                    let mapped = executed.mapped(store.bytes * store.sources.len() as u32);
                    self.counts
                        .each(in_call, |counts| counts.stores.add(&mapped));
                    self.note_stores(executed, executed.active);
                }
            }
            Op::Atom(atom) => {
                self.release(executed, (atom.semantics, atom.scope), is_repeated);
                if is_mapped {
                    let mapped = executed.mapped(atom.bytes);
                    if is_repeated {
                        self.read(executed, &mapped, change);
                    } else {
                        self.counts
                            .each(in_call, |counts| counts.atomics.add(&mapped));
                    }
                    if let Some(d) = atom.d {
                        self.outstanding(executed, &[d], change);
                    }
                }
                if executed.lanes_in(is_device) != 0 {
                    self.counts
                        .each(in_call, |counts| counts.device_atomics += 1);
                }
                self.acquire(
                    executed,
                    (atom.semantics, atom.scope),
                    is_mapped,
                    is_repeated,
                );
            }
            // Its value arrives when the copy is waited for.
            Op::Async(op) => match op.source() {
                Some((_, bytes)) if is_mapped => {
                    let mapped = executed.mapped(bytes);
                    self.read(executed, &mapped, change);
                    self.outstanding(executed, &[], change);
                }
                Some(_) => {}
                None if op.waits() => self.wait_for_all(executed),
                None => {}
            },
            Op::Fence { semantics, scope } => {
                self.fence(executed, *scope, is_repeated);
                self.acquire(executed, (*semantics, *scope), false, is_repeated);
            }
            _ => {}
        }
    }

    /// Notes an execution. Returns what has changed since the last one.
    fn change(&mut self, executed: &Executed<'_>) -> Change {
        let last = self.executions.entry(executed.site).or_default();
        let change = last.note(executed, &self.stores);
        let Some(peeled) = self
            .first_read(executed)
            .filter(|&site| site != executed.site)
        else {
            return change;
        };
        self.reads.entry(executed.site).or_default().peeled = Some(peeled);
        change.min(Change::Instruction)
    }

    /// The instruction that was the first one to read the mapped words, if it is the same in all active
    /// lanes. `None` for stores and fences.
    fn first_read(&mut self, executed: &Executed<'_>) -> Option<Site> {
        let (Op::Load(_) | Op::Atom(_), Some(addresses)) = (executed.op, &executed.addresses)
        else {
            return None;
        };
        let mut sites = lanes_of(executed.lanes_in(is_mapped)).map(|lane| {
            let now = FirstRead {
                call: executed.call,
                stores: self.stores[lane],
                site: executed.site,
            };
            let first = self
                .first_reads
                .entry((lane, addresses[lane]))
                .or_insert(now);
            if (first.call, first.stores) != (now.call, now.stores) {
                *first = now;
            }
            first.site
        });
        let first = sites.next();
        sites.fold(first, |first, site| first.filter(|&first| first == site))
    }

    /// Notes a read. Returns whether it is the first of some of its words since the lane's last store,
    /// or in its call.
    fn is_first_read(&mut self, executed: &Executed<'_>) -> bool {
        let (Some(addresses), call) = (&executed.addresses, executed.call) else {
            return false;
        };
        let mut is_first = false;
        for lane in lanes_of(executed.lanes_in(is_mapped)) {
            let last = self.last_reads.insert(addresses[lane], (call, self.time));
            is_first |=
                last.is_none_or(|(other_call, at)| other_call != call || at < self.stored_at[lane]);
        }
        is_first
    }

    fn read(&mut self, executed: &Executed<'_>, mapped: &[(u64, u32)], change: Change) {
        let site = self.reads.entry(executed.site).or_default();
        site.reads
            .each(executed.call != 0, |reads| reads.traffic.add(mapped));
        site.polls |= change == Change::Nothing;
    }

    /// Notes that `lanes` have changed memory, which may be mapped.
    pub(super) fn note_stores(&mut self, executed: &Executed<'_>, lanes: Mask) {
        for lane in lanes_of(executed.lanes_in(is_mapped) & lanes) {
            self.stores[lane] += 1;
            self.stored_at[lane] = self.time;
        }
    }

    /// A function has ended. Its reads stay outstanding, but no instruction uses their registers,
    /// which the next function with the same frame has again.
    pub(super) fn end_frame(&mut self, frame: FrameId) {
        for read in &mut self.outstanding {
            if read.frame == frame {
                read.registers = Box::default();
            }
        }
    }

    fn outstanding(&mut self, executed: &Executed<'_>, registers: &[Reg], change: Change) {
        let is_exchange = self.is_first_read(executed) && change == Change::StoreOrCall;
        self.outstanding.push(Outstanding {
            frame: executed.frame,
            lanes: executed.active,
            registers: registers.into(),
            stores: self.stores,
            read: Awaited {
                site: executed.site,
                is_exchange,
            },
        });
    }

    /// Waits if the instruction uses a register that an outstanding read fills.
    fn wait_for_operands(&mut self, executed: &Executed<'_>) {
        if self.outstanding.is_empty() {
            return;
        }
        let of_frame = |other: &&Outstanding| {
            other.frame == executed.frame && other.lanes & executed.active != 0
        };
        let mut awaited = None;
        executed.op.for_each_register(|register| {
            let mut reads = self.outstanding.iter().rev().filter(of_frame);
            awaited = awaited.or(reads
                .find(|other| other.registers.contains(&register))
                .map(|other| other.read));
        });
        if let Some(read) = awaited {
            self.wait(executed, read);
        }
    }

    /// Waits for all reads of the group.
    fn wait_for_all(&mut self, executed: &Executed<'_>) {
        let mut reads = self.outstanding.iter().rev();
        let last = reads.find(|other| other.lanes & executed.lanes != 0);
        if let Some(read) = last.map(|other| other.read) {
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

    /// The effect of an access that acquires: later accesses wait for its value, which it reads over
    /// the bus if `is_mapped`, and cached data is dropped.
    fn acquire(
        &mut self,
        executed: &Executed<'_>,
        (semantics, scope): (Semantics, Scope),
        is_mapped: bool,
        is_repeated: bool,
    ) {
        if !semantics.acquires() {
            return;
        }
        if is_mapped {
            self.wait_for_all(executed);
        }
        if scope >= Scope::Gpu && !is_repeated {
            self.counts
                .each(executed.call != 0, |counts| counts.l1_drops += 1);
        }
    }

    fn release(
        &mut self,
        executed: &Executed<'_>,
        (semantics, scope): (Semantics, Scope),
        is_repeated: bool,
    ) {
        if semantics.releases() {
            self.fence(executed, scope, is_repeated);
        }
    }

    /// A fence, which waits for earlier reads.
    fn fence(&mut self, executed: &Executed<'_>, scope: Scope, is_repeated: bool) {
        self.wait_for_all(executed);
        let mut waits = false;
        if scope == Scope::Sys {
            for lane in lanes_of(executed.active) {
                waits |= self.arrived[lane] != self.stores[lane];
                self.arrived[lane] = self.stores[lane];
            }
        }
        if is_repeated {
            return;
        }
        self.counts.each(executed.call != 0, |counts| {
            match scope {
                Scope::Cta => counts.fences.cta += 1,
                Scope::Gpu => counts.fences.gpu += 1,
                Scope::Sys => counts.fences.sys += 1,
            }
            counts.store_fences += u64::from(waits);
        });
    }

    /// Adds the counts of other warps.
    pub(super) fn add(&mut self, other: Self) {
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
    pub(super) fn costs(&self, entry: &str) -> Costs {
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
