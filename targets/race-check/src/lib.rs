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
//! An emulator translates accesses, fences and barriers of its instructions into [operations](Operation)
//! and calls of [`BlockClocks`]. Code without explicit orders has calls of its own: it releases
//! [until a time](BlockClocks::release_until) and acquires [what loads have
//! observed](BlockClocks::acquire_loads). See [`Rules`].
//!
//! Not tracked: the order of `fence.sc` among themselves, on which an access can rely only if it
//! observes something; shared memory; and accesses that emulators do not report, such as loads by
//! PTX's `vprintf`.
//!
//! | module | job |
//! |---|---|
//! | `block_clocks` | the clocks of the threads of a block |
//! | `cell` | the record of eight bytes |
//! | `host`, `host_view` | the host's accesses |
//! | `report` | reports |
//! | `party` | the parties of a race |
//! | `clock` | vector clocks |
//! | `operation`, `rules` | accesses; what differs between GPUs |

mod block_clocks;
mod cell;
mod clock;
mod host;
mod host_view;
mod operation;
mod party;
mod report;
mod rules;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use device_arena::AccessKind;

pub use self::block_clocks::BlockClocks;
use self::cell::{Cell, Strength};
pub use self::clock::Clock;
use self::host::{Host, Mapped};
pub use self::operation::{Operation, Outcome, Scope, Semantics};
use self::party::{Mark, Party, RaceKind};
pub use self::report::Report;
pub use self::rules::{IsMapped, Rules};

/// Active lanes of a warp, lane 0 in bit 0.
pub type Mask = u32;

/// The lanes of a mask.
fn lanes_of(mask: Mask) -> impl Iterator<Item = u32> {
    (0..Mask::BITS).filter(move |lane| mask >> lane & 1 != 0)
}

/// A device thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    pub(crate) launch: u64,
    pub(crate) block: u64,
    pub(crate) thread: u32,
}

/// The location of an access: the number of the code, and the place in it, which the code describes.
pub type Site = (u64, u64);

/// Code, which knows where its accesses are.
pub trait Places: Send + Sync {
    /// A description of the access at a place, for reports.
    fn describe(&self, place: u64) -> String;
}

/// Number of shards; a word's address divided by 8 selects one.
const SHARDS: usize = 64;

/// Tracks the order that synchronisation creates.
pub struct Checker {
    rules: Rules,
    shards: [Mutex<HashMap<u64, Cell>>; SHARDS],
    host: Mutex<Host>,
    mapped: Mapped,
    /// The time of the host and of its observations.
    ticks: AtomicU64,
    code: Mutex<HashMap<u64, Arc<dyn Places>>>,
    /// Words with a release whose scope excludes the host, until a device thread acquires it.
    suspects: Mutex<HashSet<u64>>,
    /// The first race of each launch.
    pending: Mutex<HashMap<u64, Report>>,
    is_pending: AtomicBool,
    /// Held while a launch begins or ends.
    boundary: Mutex<()>,
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checker")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// Locks; the content is consistent wherever a panic could happen.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Checker {
    /// A checker that has seen nothing.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            shards: std::array::from_fn(|_| Mutex::default()),
            host: Mutex::default(),
            mapped: Mapped::default(),
            ticks: AtomicU64::new(1),
            code: Mutex::default(),
            suspects: Mutex::default(),
            pending: Mutex::default(),
            is_pending: AtomicBool::new(false),
            boundary: Mutex::default(),
        }
    }

    /// The next tick; all threads agree on the order of ticks.
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    fn shard(&self, cell: u64) -> MutexGuard<'_, HashMap<u64, Cell>> {
        lock(&self.shards[(cell % SHARDS as u64) as usize])
    }

    /// Begins a launch. Returns the initial clock of its threads. `number` is what its [sites](Site) call the code.
    pub fn begin(&self, launch: u64, (number, code): (u64, Arc<dyn Places>)) -> Arc<Clock> {
        let _boundary = lock(&self.boundary);
        lock(&self.code).insert(number, code);
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
    pub fn end(&self, launch: u64) -> Option<Report> {
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
            let code = std::mem::take(&mut *lock(&self.code));
            drop(code);
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
    fn cause_of(&self, launch: u64, report: Report) -> Report {
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
    fn access(
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
        let mixes = !self.rules.is_explicit;
        let at = operation.address / 8;
        let mut shard = self.shard(at);
        let cell = shard.entry(at).or_default();
        let strength = cell.strength(operation);
        if cell.view.is_none() {
            cell.view = Some(Box::new(self.first_view(at * 8)));
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
        if let Some(other) = cell.unknown_to((who, mixes), mask, strength, wrote, |other, time| {
            clocks.knows(who, other, time)
        }) {
            return Err(self.first(
                clocks.launch,
                self.report(other.race, range, other.party, me),
            ));
        }

        let mut observes = false;
        if operation.kind != AccessKind::Store {
            // Unless code is explicit, weak accesses may synchronise threads of the block.
            let scope = match strength {
                Strength::Strong(scope) => Some(scope),
                Strength::Weak => mixes.then_some(Scope::Cta),
            };
            if let Some(scope) = scope {
                let from_host = cell.view.as_ref().is_some_and(|v| v.by_host & mask != 0);
                if from_host && scope == Scope::Sys {
                    let clock = self.now();
                    clocks.take(who, operation, None, &clock);
                    if wrote {
                        cell.take_from_host(mask, clock);
                    }
                }
                clocks.take_owed(who, operation, scope);
                for message in cell.messages_to(mask, mixes) {
                    clocks.take_message(who, operation, scope, message);
                }
                observes = cell.observe((who, mixes), mask, strength, mark.time, |other, time| {
                    clocks.knows(who, other, time)
                });
            }
            cell.consumed(who, mask, strength, operation.kind);
        }
        if wrote {
            cell.put((mask, mixes), operation.kind, messages);
            if let Some(view) = &mut cell.view {
                view.leave(operation.address, mask, outcome.left, self.tick());
            }
            let is_mapped = (self.rules.is_mapped)(operation.address);
            if is_mapped && cell.suspect(who, operation, strength, mark) {
                lock(&self.suspects).insert(at);
            }
        }
        cell.record(who, mask, strength, wrote, observes && wrote, mark);
        // Waits tell apart the accesses of code that is not explicit.
        if operation.kind != AccessKind::Load || mixes {
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

    /// Memory is about to be freed; its next owner has nothing to do with the last one.
    pub fn forget(&self, address: u64, bytes: u64) {
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
