//! A race checker: it reports conflicting accesses without an order, and orders with too narrow a
//! scope.
//!
//! Source: the PTX ISA, "Memory Consistency Model". Vector clocks track happens-before: each
//! thread has a time up to which it has observed every other thread, passes it on by release
//! patterns and acquires it by acquire patterns. Each word has a record of its accesses. An access
//! that conflicts with an earlier one must have observed it, or both must be morally strong. See
//! also: Flanagan and Freund, "FastTrack", PLDI 2009.
//!
//! The host's accesses are known only by their effects on memory, and by its own reports: see
//! `host`. Accesses that may be ordered are assumed to be, so every report is a race.
//!
//! Not tracked: the order of `fence.sc` among themselves, on which an access can rely only if it
//! observes something; shared memory; and the loads of the driver's functions (`vprintf`).

mod block_clocks;
mod cell;
mod clock;
mod host;
mod host_view;
mod party;
mod report;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use self::block_clocks::BlockClocks;
use self::cell::{Cell, Strength};
pub(crate) use self::clock::Clock;
use self::host::{Host, Mapped};
use self::party::{Mark, Party, RaceKind};
pub(crate) use self::report::Report;
use device_arena::AccessKind;

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

/// An access to one element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: AccessKind,
    pub(crate) address: u64,
    pub(crate) bytes: u32,
    pub(crate) semantics: Semantics,
    pub(crate) scope: Scope,
    /// Whether the text is for devices without orders other than fences, for which compilers lower
    /// atomic accesses to plain ones.
    pub(crate) is_old: bool,
}

impl Operation {
    /// The bytes of its cell that it uses.
    fn mask(&self) -> u8 {
        let bytes = ((1u32 << self.bytes) - 1) as u8;
        bytes << (self.address % 8)
    }
}

/// The old and the new value of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) seen: u64,
    pub(crate) left: u64,
    /// A compare-and-swap may fail to.
    pub(crate) wrote: bool,
}

/// The location of an access: module, function, instruction.
pub(crate) type Site = (u64, u32, u32);

/// Number of shards; a word's address divided by 8 selects one.
const SHARDS: usize = 64;

/// Tracks the order that synchronisation creates.
#[derive(Debug)]
pub(crate) struct Checker {
    shards: [Mutex<HashMap<u64, Cell>>; SHARDS],
    host: Mutex<Host>,
    mapped: Mapped,
    /// The time of the host and of its observations.
    ticks: AtomicU64,
    modules: Mutex<HashMap<u64, Arc<Module>>>,
    /// CheckedMemory with a release whose scope excludes the host, until a device thread acquires it.
    suspects: Mutex<HashSet<u64>>,
    /// The first race of each launch.
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

/// Locks; the content is consistent wherever a panic could happen.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Checker {
    /// The next tick; all threads agree on the order of ticks.
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    fn shard(&self, cell: u64) -> MutexGuard<'_, HashMap<u64, Cell>> {
        lock(&self.shards[(cell % SHARDS as u64) as usize])
    }

    /// Begins a launch. Returns the initial clock of its threads.
    pub(crate) fn begin(&self, launch: u64, module: &Arc<Module>) -> Arc<Clock> {
        let _boundary = lock(&self.boundary);
        let id = Arc::as_ptr(module) as u64;
        lock(&self.modules).insert(id, Arc::clone(module));
        let origin = {
            let mut host = lock(&self.host);
            host.running.insert(launch);
            let clock = Arc::make_mut(&mut host.clock);
            // The host's earlier accesses come before the launch.
            clock.host = self.tick();
            Arc::clone(&host.clock)
        };
        // Changes after this snapshot do not.
        self.look_at_mapped();
        origin
    }

    /// Ends a launch. Returns its race, if it has one.
    pub(crate) fn end(&self, launch: u64) -> Option<Report> {
        let _boundary = lock(&self.boundary);
        let suspect = self.suspect_of(launch);
        let report = suspect.or_else(|| self.pending_of(launch));
        lock(&self.pending).remove(&launch);
        let mut host = lock(&self.host);
        host.running.remove(&launch);
        Arc::make_mut(&mut host.clock).end(launch);
        if host.running.is_empty() {
            // Everything so far comes before everything later.
            host.clock = Arc::default();
            drop(host);
            for shard in &self.shards {
                lock(shard).clear();
            }
            lock(&self.suspects).clear();
            // Dropping them frees memory, which calls `forget`, so no lock may be held.
            let modules = std::mem::take(&mut *lock(&self.modules));
            drop(modules);
            lock(&self.pending).clear();
            // Relaxed: nothing runs, and later launches are ordered after it by `boundary`.
            self.is_pending.store(false, Ordering::Relaxed);
        }
        report
    }

    fn pending_of(&self, launch: u64) -> Option<Report> {
        // Relaxed: a thread that could observe an effect also sees this, by the lock of the word.
        if !self.is_pending.load(Ordering::Relaxed) {
            return None;
        }
        lock(&self.pending).get(&launch).cloned()
    }

    /// Makes all threads of a launch report its first race: the others run on without that thread's
    /// effects until they are stopped.
    fn first(&self, launch: u64, report: Report) -> Report {
        let first = lock(&self.pending).entry(launch).or_insert(report).clone();
        // Relaxed: see `pending_of`.
        self.is_pending.store(true, Ordering::Relaxed);
        first
    }

    /// The cause of a race, if it is known: after a release that excludes the host, all accesses of
    /// the host race with the released ones.
    pub(super) fn cause_of(&self, launch: u64, report: Report) -> Report {
        let suspect = report.with_host.then(|| self.suspect_of(launch));
        suspect.flatten().unwrap_or(report)
    }

    /// A release to which no device thread synchronised.
    fn suspect_of(&self, launch: u64) -> Option<Report> {
        let suspects: Vec<u64> = lock(&self.suspects).iter().copied().collect();
        suspects.into_iter().find_map(|at| {
            let shard = self.shard(at);
            let suspect = shard.get(&at)?.suspect.filter(|s| s.by.launch == launch)?;
            drop(shard);
            Some(self.report(
                RaceKind::Narrow,
                suspect.operation.range(),
                suspect.party(),
                Party::Host,
            ))
        })
    }

    /// Checks one access of some lanes of a warp. Returns the loaded value, or the race.
    pub(crate) fn access(
        &self,
        clocks: &mut BlockClocks,
        (warp, lanes): (u32, Mask),
        operation: &Operation,
        site: Site,
        perform: impl FnOnce() -> Outcome,
    ) -> Result<u64, Report> {
        if let Some(report) = self.pending_of(clocks.launch) {
            return Err(report);
        }
        let who = clocks.who(warp, lanes);
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
        if operation.kind != AccessKind::Load {
            messages = clocks.release(who, operation, mask, strength);
            for message in messages.iter().filter(|m| m.scope == Scope::Sys) {
                // Before the host can observe it.
                Arc::make_mut(&mut lock(&self.host).clock).join(&message.clock);
            }
        }
        let outcome = perform();
        let wrote = operation.kind != AccessKind::Load && outcome.wrote;
        let mark = Mark {
            time: clocks.time(),
            site,
            kind: operation.kind,
        };

        // The host's accesses meanwhile.
        let range = operation.range();
        if let Some(view) = &mut cell.view {
            let changed = view.observe(operation.address, mask, outcome.seen, before);
            if changed != 0
                && let Some(other) = cell.unknown_to_host(changed, true, &lock(&self.host).clock)
            {
                return Err(self.first(
                    clocks.launch,
                    self.report(other.race, range, other.party, Party::Host),
                ));
            }
        }
        let me = Party::Device { who, mark };
        if let Some((race, host)) = cell.against_host(mask, strength, wrote, clocks.host(who)) {
            return Err(self.first(clocks.launch, self.report(race, range, host, me)));
        }
        // Other device threads' accesses.
        if let Some(other) = cell.unknown_to(who, mask, strength, wrote, |other, time| {
            clocks.knows(who, other, time)
        }) {
            return Err(self.first(
                clocks.launch,
                self.report(other.race, range, other.party, me),
            ));
        }

        let mut observes = false;
        if operation.kind != AccessKind::Store {
            if let Strength::Strong(scope) = strength {
                let from_host = cell.view.as_ref().is_some_and(|v| v.by_host & mask != 0);
                if from_host && scope == Scope::Sys {
                    let clock = self.now();
                    clocks.take(who, operation, None, &clock);
                    if wrote {
                        cell.take_from_host(mask, clock);
                    }
                }
                clocks.take_owed(who, operation, scope);
                for message in cell.messages.iter().filter(|m| m.mask == mask) {
                    clocks.take_message(who, operation, scope, message);
                }
                observes = cell.observe(who, mask, strength, mark.time, |other, time| {
                    clocks.knows(who, other, time)
                });
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
        cell.record(who, mask, strength, wrote, observes && wrote, mark);
        if operation.kind != AccessKind::Load {
            clocks.pass();
        }
        Ok(outcome.seen)
    }

    /// The clock of everything that the host has done and observed.
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
