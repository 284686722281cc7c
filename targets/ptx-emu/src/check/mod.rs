//! A checker for accesses that nothing orders, and for orders that leave somebody out.
//!
//! Source: the PTX ISA, "Memory Consistency Model". What happens before what is followed
//! with vector clocks: each thread knows up to which time it knows every other one, hands
//! that on by release patterns and takes it over by acquire patterns. For each word there
//! is who used it, and an access that conflicts with an earlier one must know of it, or
//! both must be morally strong. See also: Flanagan and Freund, "FastTrack", PLDI 2009.
//!
//! Of the host's accesses there is only what it leaves in memory, and what it tells of
//! itself: see `host`. Wherever that leaves it open whether something is ordered, it is
//! taken to be: what is reported is certain.
//!
//! Not followed: the order of `fence.sc` among themselves, which no access can count on
//! without observing something; shared memory; and what the driver's functions
//! (`vprintf`) read.

mod cell;
mod clock;
mod host;
mod report;
mod strand;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::cell::{Cell, Mark, Strength};
pub(crate) use self::clock::Clock;
use self::host::{Host, Mapped};
pub(crate) use self::report::Report;
use self::report::{Party, Trouble};
pub(crate) use self::strand::Strands;
use crate::alu::Mask;
use crate::code::op::{Scope, Semantics};
use crate::memory::{Change, Memory};
use crate::module::Module;

/// A device thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    pub(crate) launch: u64,
    pub(crate) block: u64,
    pub(crate) thread: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    Atomic,
}

/// An access to one element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) semantics: Semantics,
    pub(crate) scope: Scope,
    /// Whether the text is for devices that know no order but fences: compilers make
    /// plain accesses of atomic ones there.
    pub(crate) is_old: bool,
}

impl Operation {
    /// The bytes of its cell that it uses.
    fn mask(&self) -> u8 {
        let bytes = ((1u32 << self.bytes) - 1) as u8;
        bytes << (self.address % 8)
    }
}

/// What an access found and left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) seen: u64,
    pub(crate) left: u64,
    /// A compare-and-swap may fail to.
    pub(crate) wrote: bool,
}

/// Where an access stands, cheaply: module, function, instruction.
pub(crate) type Site = (u64, u32, u32);

/// A word, by its address over 8, is in one of so many parts.
const SHARDS: usize = 64;

/// Follows what synchronisation orders.
#[derive(Debug)]
pub(crate) struct Checker {
    shards: [Mutex<HashMap<u64, Cell>>; SHARDS],
    host: Mutex<Host>,
    mapped: Mapped,
    /// The time of the host and of what is seen of it.
    ticks: AtomicU64,
    modules: Mutex<HashMap<u64, Arc<Module>>>,
    /// Words with a release that leaves the host out, until somebody on the device
    /// turns out to be meant.
    suspects: Mutex<HashSet<u64>>,
    /// What was first found to be wrong, by launch.
    pending: Mutex<HashMap<u64, Report>>,
    is_pending: AtomicBool,
    /// Held while a launch begins or ends.
    boundary: Mutex<()>,
}

impl Default for Checker {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            host: Mutex::default(),
            mapped: Mapped::default(),
            ticks: AtomicU64::new(1),
            modules: Mutex::default(),
            suspects: Mutex::default(),
            pending: Mutex::default(),
            is_pending: AtomicBool::new(false),
            boundary: Mutex::default(),
        }
    }
}

/// What it guards is consistent wherever a panic could happen.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Checker {
    /// The next moment; all threads agree on the order of moments.
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    fn shard(&self, cell: u64) -> MutexGuard<'_, HashMap<u64, Cell>> {
        lock(&self.shards[(cell % SHARDS as u64) as usize])
    }

    /// A launch begins: what its threads know.
    pub(crate) fn begin(&self, launch: u64, module: &Arc<Module>) -> Arc<Clock> {
        let _boundary = lock(&self.boundary);
        let id = Arc::as_ptr(module) as u64;
        lock(&self.modules).insert(id, Arc::clone(module));
        let origin = {
            let mut host = lock(&self.host);
            host.running.insert(launch);
            let clock = Arc::make_mut(&mut host.clock);
            // What the host did until here comes before the launch.
            clock.host = self.tick();
            Arc::clone(&host.clock)
        };
        // What it changes behind this look does not.
        self.look_at_mapped();
        origin
    }

    /// A launch has ended: what it turns out to have done wrong.
    pub(crate) fn end(&self, launch: u64) -> Option<Report> {
        let _boundary = lock(&self.boundary);
        let suspect = self.suspect_of(launch);
        let report = suspect.or_else(|| self.pending_of(launch));
        lock(&self.pending).remove(&launch);
        let mut host = lock(&self.host);
        host.running.remove(&launch);
        Arc::make_mut(&mut host.clock).end(launch);
        if host.running.is_empty() {
            // All that happened comes before all that will.
            host.clock = Arc::default();
            drop(host);
            for shard in &self.shards {
                lock(shard).clear();
            }
            lock(&self.suspects).clear();
            // What they own is freed, and forgotten here, without anything held.
            let modules = std::mem::take(&mut *lock(&self.modules));
            drop(modules);
            lock(&self.pending).clear();
            // Relaxed: nothing runs, and what begins comes after, by `boundary`.
            self.is_pending.store(false, Ordering::Relaxed);
        }
        report
    }

    fn pending_of(&self, launch: u64) -> Option<Report> {
        // Relaxed: who could see an effect of it sees this, too, by the lock of the word.
        if !self.is_pending.load(Ordering::Relaxed) {
            return None;
        }
        lock(&self.pending).get(&launch).cloned()
    }

    /// Has all threads of a launch report what one of them was first to: the others go on
    /// until they are stopped, without what it should have done.
    fn first(&self, launch: u64, report: Report) -> Report {
        let first = lock(&self.pending).entry(launch).or_insert(report).clone();
        // Relaxed: see `pending_of`.
        self.is_pending.store(true, Ordering::Relaxed);
        first
    }

    /// The cause, if it is known: where a release leaves the host out, all that the host
    /// then does races with what was to be released.
    pub(super) fn cause_of(&self, launch: u64, report: Report) -> Report {
        let suspect = report.with_host.then(|| self.suspect_of(launch));
        suspect.flatten().unwrap_or(report)
    }

    /// A store that released something to nobody on the device.
    fn suspect_of(&self, launch: u64) -> Option<Report> {
        let suspects: Vec<u64> = lock(&self.suspects).iter().copied().collect();
        suspects.into_iter().find_map(|at| {
            let shard = self.shard(at);
            let suspect = shard.get(&at)?.suspect.filter(|s| s.by.launch == launch)?;
            drop(shard);
            Some(self.report(
                Trouble::Narrow,
                suspect.operation.range(),
                suspect.party(),
                Party::Host,
            ))
        })
    }

    /// Some lanes of a warp do the same at the same time; what they see, or what is
    /// wrong.
    pub(crate) fn access(
        &self,
        strands: &mut Strands,
        (warp, lanes): (u32, Mask),
        operation: &Operation,
        site: Site,
        perform: impl FnOnce() -> Outcome,
    ) -> Result<u64, Report> {
        if let Some(report) = self.pending_of(strands.launch) {
            return Err(report);
        }
        let who = strands.who(warp, lanes);
        let mask = operation.mask();
        let at = operation.address / 8;
        let mut shard = self.shard(at);
        let cell = shard.entry(at).or_default();
        let strength = cell.strength(operation);
        if cell.view.is_none() {
            cell.view = Some(Box::new(self.mapped.first_view(at * 8)));
        }
        let before = self.tick();
        let mut messages = Vec::new();
        if operation.kind != Kind::Load {
            messages = strands.release(who, operation, mask, strength);
            for message in messages.iter().filter(|m| m.scope == Scope::Sys) {
                // Before the host can see it, and act on it.
                Arc::make_mut(&mut lock(&self.host).clock).join(&message.clock);
            }
        }
        let outcome = perform();
        let wrote = operation.kind != Kind::Load && outcome.wrote;
        let mark = Mark {
            time: strands.time(),
            site,
            kind: operation.kind,
        };

        // What the host did meanwhile.
        let range = operation.range();
        if let Some(view) = &mut cell.view {
            let changed = view.look(operation.address, mask, outcome.seen, before);
            if changed != 0
                && let Some(other) = cell.unknown_to_host(changed, true, &lock(&self.host).clock)
            {
                return Err(self.first(
                    strands.launch,
                    self.report(other.trouble, range, other.party, Party::Host),
                ));
            }
        }
        let me = Party::Device { who, mark };
        if let Some((trouble, host)) = cell.against_host(strands, who, mask, strength, wrote) {
            return Err(self.first(strands.launch, self.report(trouble, range, host, me)));
        }
        // What others did.
        if let Some(other) = cell.unknown_to(strands, who, mask, strength, wrote) {
            return Err(self.first(
                strands.launch,
                self.report(other.trouble, range, other.party, me),
            ));
        }

        if operation.kind != Kind::Store {
            if let Strength::Strong(scope) = strength {
                let from_host = cell.view.as_ref().is_some_and(|v| v.by_host & mask != 0);
                if from_host && scope == Scope::Sys {
                    let clock = self.now();
                    strands.take(who, operation, None, &clock);
                    if wrote {
                        cell.take_from_host(mask, clock);
                    }
                }
                strands.take_owed(who, operation, scope);
                for message in cell.messages.iter().filter(|m| m.mask == mask) {
                    strands.take_message(who, operation, scope, message);
                }
            }
            cell.consumed(who, mask, strength, operation.kind);
        }
        if wrote {
            cell.put(mask, operation.kind, messages);
            if let Some(view) = &mut cell.view {
                view.leave(operation.address, mask, outcome.left, self.tick());
            }
            if cell.suspect(who, operation, strength, mark) {
                lock(&self.suspects).insert(at);
            }
        }
        cell.record(who, mask, strength, wrote, mark);
        if operation.kind != Kind::Load {
            strands.pass();
        }
        Ok(outcome.seen)
    }

    /// All that the host has done and seen until now.
    fn now(&self) -> Arc<Clock> {
        let mut clock = Arc::clone(&lock(&self.host).clock);
        Arc::make_mut(&mut clock).host = self.tick();
        clock
    }

    /// Follows what is mapped and freed in `memory` from now on.
    pub(crate) fn follow(self: &Arc<Self>, memory: &Memory) {
        let checker = Arc::clone(self);
        memory.observe(move |change| match change {
            Change::Mapped {
                address,
                bytes,
                host,
            } => checker.mapped.add(address, bytes, host),
            Change::Freed { address, bytes } => checker.forget(address, bytes),
        });
    }

    /// Memory is freed; its next owner has nothing to do with the last one.
    fn forget(&self, address: u64, bytes: u64) {
        self.mapped.forget(address, bytes);
        self.each(address, bytes, |_, _| None, true);
    }
}

impl Strength {
    fn of(semantics: Semantics, scope: Scope) -> Self {
        match semantics {
            Semantics::Weak => Self::Weak,
            Semantics::Volatile => Self::Strong(Scope::Sys),
            _ => Self::Strong(scope),
        }
    }
}
