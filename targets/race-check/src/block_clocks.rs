//! The clocks of the threads of a block.

use std::collections::HashMap;
use std::sync::Arc;

use super::cell::{Message, Strength};
use super::party::Who;
use super::{
    Checker, Clock, Mask, Operation, Outcome, Report, Scope, Semantics, Site, Thread, lanes_of,
};

/// The clock of a thread, and the clocks that fences would join to it.
#[derive(Debug, Default)]
struct ThreadClock {
    clock: Arc<Clock>,
    /// Its clock at its last fence of each scope, which strong stores release.
    fenced: [Option<Arc<Clock>>; 3],
    /// The clocks that its strong loads observed, by the distance of the other thread: a fence of
    /// that scope acquires them.
    owed: [Option<Arc<Clock>>; 3],
    /// The same for each word: acquiring loads of the word acquire them.
    owed_at: HashMap<(u64, u8), [Option<Arc<Clock>>; 3]>,
    /// Those of loads that no invalidation of caches has followed.
    arrived: Vec<Arrival>,
    /// The clock that it released on a word, which later strong stores there release too.
    released: HashMap<(u64, u8), (Scope, Arc<Clock>)>,
}

/// A clock that a load at a time observed, of a thread at a distance.
#[derive(Debug)]
struct Arrival {
    time: u64,
    distance: Scope,
    clock: Arc<Clock>,
}

impl ThreadClock {
    fn arrive(&mut self, new: Arrival) {
        // Polling would make many.
        const MAX: usize = 64;
        let is_known =
            |it: &Arrival| it.distance == new.distance && Arc::ptr_eq(&it.clock, &new.clock);
        if self.arrived.iter().any(is_known) {
            return;
        }
        let count = self.arrived.len();
        let mut others = self.arrived.iter_mut();
        match others.rfind(|it| it.distance == new.distance) {
            Some(last) if count >= MAX => {
                last.time = new.time;
                join(&mut last.clock, &new.clock);
            }
            _ => self.arrived.push(new),
        }
    }
}

/// The threads of a block, which one OS thread runs.
#[derive(Debug)]
pub struct BlockClocks {
    checker: Arc<Checker>,
    pub(super) launch: u64,
    pub(super) block: u64,
    /// The time of the block: each release ends a moment.
    time: u64,
    of: Vec<ThreadClock>,
    /// Whether lanes of a warp progress independently.
    are_independent: bool,
    /// The clocks of the threads that arrived at a barrier.
    barriers: HashMap<usize, Clock>,
}

/// The narrowest scope with a thread of one block and another party; `None` is the host.
fn distance(one: (u64, u64), other: Option<(u64, u64)>) -> Scope {
    match other {
        None => Scope::Sys,
        Some(other) if other == one => Scope::Cta,
        Some(_) => Scope::Gpu,
    }
}

fn join(to: &mut Arc<Clock>, from: &Arc<Clock>) {
    if !Arc::ptr_eq(to, from) {
        Arc::make_mut(to).join(from);
    }
}

impl BlockClocks {
    /// Those of a block with so many threads. If lanes of a warp are not independent, one thread stands for all.
    #[must_use]
    pub fn new(
        checker: &Arc<Checker>,
        origin: &Arc<Clock>,
        (launch, block): (u64, u64),
        threads: u32,
        are_independent: bool,
    ) -> Self {
        let own = || ThreadClock {
            clock: Arc::clone(origin),
            ..ThreadClock::default()
        };
        let threads = threads.next_multiple_of(checker.rules.width);
        Self {
            checker: Arc::clone(checker),
            launch,
            block,
            time: 1,
            of: (0..threads).map(|_| own()).collect(),
            are_independent,
            barriers: HashMap::new(),
        }
    }

    /// Some lanes of a warp do the same at the same time; what they see.
    ///
    /// # Errors
    /// It is a race.
    pub fn access(
        &mut self,
        lanes: (u32, Mask),
        operation: &Operation,
        site: Site,
        perform: impl FnOnce() -> Outcome,
    ) -> Result<u64, Report> {
        let checker = Arc::clone(&self.checker);
        let result = checker.access(self, lanes, operation, site, perform);
        result.map_err(|report| checker.cause_of(self.launch, report))
    }

    /// In lock-step a warp is one thread: its lanes are ordered.
    pub(super) fn who(&self, warp: u32, lanes: Mask) -> Who {
        Who {
            launch: self.launch,
            block: self.block,
            first: warp * self.checker.rules.width,
            lanes: if self.are_independent { lanes } else { 1 },
        }
    }

    /// The time of the next access.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    pub(super) fn pass(&mut self) {
        self.time += 1;
    }

    /// The clock of a thread, for a release.
    fn stamp(&mut self, thread: Thread) -> Arc<Clock> {
        let own = &mut self.of[thread.thread as usize];
        Arc::make_mut(&mut own.clock).learn(thread, self.time);
        Arc::clone(&own.clock)
    }

    fn place(&self) -> (u64, u64) {
        (self.launch, self.block)
    }

    /// Whether one of the lanes has observed an access of some lanes.
    ///
    /// Lanes with the same access in one instruction count as one: an order for one of them orders
    /// the access, since the others repeat it. Compilers run code for one thread on a whole warp
    /// in this way.
    pub(super) fn knows(&self, who: Who, other: Who, time: u64) -> bool {
        let is_block = (who.launch, who.block) == (other.launch, other.block);
        let is_same = who.first == other.first && who.lanes & other.lanes != 0;
        if is_block && (is_same || !self.checker.rules.is_explicit) {
            return true;
        }
        who.threads().any(|me| {
            let clock = &self.of[me.thread as usize].clock;
            other.threads().any(|it| clock.knows(it, time))
        })
    }

    /// The tick up to which one of the lanes has observed the host.
    pub(super) fn host(&self, who: Who) -> u64 {
        let known = who
            .threads()
            .map(|me| self.of[me.thread as usize].clock.host);
        known.max().unwrap_or(0)
    }

    /// The messages of a store of `who` for its readers.
    pub(super) fn release(
        &mut self,
        who: Who,
        operation: &Operation,
        mask: u8,
        strength: Strength,
    ) -> Vec<Message> {
        let from = Some(self.place());
        let word = (operation.address, mask);
        let mut messages = Vec::new();
        if !self.checker.rules.is_explicit {
            // It may release to the block.
            for me in who.threads() {
                let clock = self.until(me, self.time);
                messages.push(Message {
                    mask,
                    from,
                    scope: Scope::Cta,
                    clock,
                });
            }
        }
        let Strength::Strong(scope) = strength else {
            return messages;
        };
        for me in who.threads() {
            let mut send = |within: Scope, clock: &Arc<Clock>| {
                let scope = scope.min(within);
                let clock = Arc::clone(clock);
                messages.push(Message {
                    mask,
                    from,
                    scope,
                    clock,
                });
            };
            if operation.semantics.releases() {
                let clock = self.stamp(me);
                send(scope, &clock);
                let own = &mut self.of[me.thread as usize];
                own.released.insert(word, (scope, clock));
                continue;
            }
            let own = &self.of[me.thread as usize];
            for within in Scope::ALL {
                if let Some(clock) = &own.fenced[within as usize] {
                    send(within, clock);
                }
            }
            if let Some((within, clock)) = own.released.get(&word) {
                send(*within, clock);
            }
        }
        messages
    }

    /// Acquires the clock that a strong load observed from `from`.
    pub(super) fn take(
        &mut self,
        who: Who,
        operation: &Operation,
        from: Option<(u64, u64)>,
        clock: &Arc<Clock>,
    ) {
        let distance = distance(self.place(), from);
        let time = self.time;
        for me in who.threads() {
            let own = &mut self.of[me.thread as usize];
            if operation.semantics.acquires() {
                join(&mut own.clock, clock);
            } else if !self.checker.rules.is_explicit {
                match distance {
                    Scope::Cta => join(&mut own.clock, clock),
                    _ => own.arrive(Arrival {
                        time,
                        distance,
                        clock: Arc::clone(clock),
                    }),
                }
            } else {
                let at = own.owed_at.entry((operation.address, operation.mask()));
                for owed in [&mut own.owed, at.or_default()] {
                    join(owed[distance as usize].get_or_insert_default(), clock);
                }
            }
        }
    }

    /// Acquires the clocks that earlier loads of the same word observed.
    pub(super) fn take_owed(&mut self, who: Who, operation: &Operation, scope: Scope) {
        if !operation.semantics.acquires() {
            return;
        }
        for me in who.threads() {
            let own = &mut self.of[me.thread as usize];
            let word = (operation.address, operation.mask());
            if let Some(owed) = own.owed_at.get(&word) {
                for clock in owed[..=scope as usize].iter().flatten() {
                    join(&mut own.clock, clock);
                }
            }
        }
    }

    /// The same with a message of a word, if the scopes of both sides are wide enough.
    pub(super) fn take_message(
        &mut self,
        who: Who,
        operation: &Operation,
        scope: Scope,
        message: &Message,
    ) {
        let distance = distance(self.place(), message.from);
        if distance <= scope && distance <= message.scope {
            self.take(who, operation, message.from, &message.clock);
        }
    }

    /// The clock of a thread, if its accesses after a time are not complete.
    fn until(&self, thread: Thread, time: u64) -> Arc<Clock> {
        let mut clock = Arc::clone(&self.of[thread.thread as usize].clock);
        Arc::make_mut(&mut clock).limit(thread, time);
        clock
    }

    /// Later strong stores of a warp release its accesses until a time, within a scope.
    pub fn release_until(&mut self, warp: u32, scope: Scope, time: u64) {
        for me in self.who(warp, 1).threads() {
            let clock = self.until(me, time);
            self.of[me.thread as usize].fenced[scope as usize] = Some(clock);
        }
    }

    /// A warp acquires what loads of the block before a time have observed, as far as a scope: those of other
    /// warps, too, which may have told it.
    pub fn acquire_loads(&mut self, warp: u32, scope: Scope, before: u64) {
        let is_acquired = |it: &Arrival| it.time < before && it.distance <= scope;
        for me in self.who(warp, 1).threads() {
            let all = self.of.iter().flat_map(|thread| &thread.arrived);
            let acquired: Vec<_> = all
                .filter(|it| is_acquired(it))
                .map(|it| Arc::clone(&it.clock))
                .collect();
            let own = &mut self.of[me.thread as usize];
            own.arrived.retain(|it| !is_acquired(it));
            for clock in acquired {
                join(&mut own.clock, &clock);
            }
        }
    }

    /// Lanes of a warp execute a fence.
    pub fn fence(&mut self, warp: u32, lanes: Mask, semantics: Semantics, scope: Scope) {
        for me in self.who(warp, lanes).threads() {
            if semantics.acquires() {
                let own = &mut self.of[me.thread as usize];
                for owed in &mut own.owed[..=scope as usize] {
                    if let Some(clock) = owed.take() {
                        join(&mut own.clock, &clock);
                    }
                }
                if scope == Scope::Sys {
                    own.owed_at.clear();
                }
            }
            if semantics.releases() {
                let clock = self.stamp(me);
                let own = &mut self.of[me.thread as usize];
                for within in Scope::ALL {
                    if within <= scope {
                        own.fenced[within as usize] = None;
                    }
                }
                own.fenced[scope as usize] = Some(clock);
            }
        }
        self.pass();
    }

    /// Threads synchronise: each then has the clocks of all.
    pub fn sync_lanes(&mut self, warp: u32, lanes: Mask) {
        let who = self.who(warp, lanes);
        let mut all = Clock::default();
        self.gather(who, &mut all);
        self.scatter(who, &Arc::new(all));
        self.pass();
    }

    /// Lanes of a warp arrive at a barrier.
    pub fn arrive(&mut self, barrier: usize, warp: u32, lanes: Mask) {
        let who = self.who(warp, lanes);
        let mut all = self.barriers.remove(&barrier).unwrap_or_default();
        self.gather(who, &mut all);
        self.barriers.insert(barrier, all);
        self.pass();
    }

    /// A barrier releases lanes of warps.
    pub fn depart(&mut self, barrier: usize, warps: impl Iterator<Item = (u32, Mask)>) {
        let all = Arc::new(self.barriers.remove(&barrier).unwrap_or_default());
        for (warp, lanes) in warps {
            self.scatter(self.who(warp, lanes), &all);
        }
    }

    /// Lanes of a warp are ordered after the threads that have arrived at a barrier so far.
    pub fn observe(&mut self, barrier: usize, warp: u32, lanes: Mask) {
        let Some(all) = self.barriers.get(&barrier) else {
            return;
        };
        for me in self.who(warp, lanes).threads() {
            Arc::make_mut(&mut self.of[me.thread as usize].clock).join(all);
        }
    }

    fn gather(&self, who: Who, all: &mut Clock) {
        let mut last: Option<&Arc<Clock>> = None;
        for me in who.threads() {
            let clock = &self.of[me.thread as usize].clock;
            // After a barrier all of them share one clock.
            if !last.is_some_and(|last| Arc::ptr_eq(last, clock)) {
                all.join(clock);
            }
            all.learn(me, self.time);
            last = Some(clock);
        }
    }

    fn scatter(&mut self, who: Who, all: &Arc<Clock>) {
        for me in who.threads() {
            self.of[me.thread as usize].clock = Arc::clone(all);
        }
    }
}

impl Who {
    pub(super) fn threads(self) -> impl Iterator<Item = Thread> {
        lanes_of(self.lanes).map(move |lane| Thread {
            launch: self.launch,
            block: self.block,
            thread: self.first + lane,
        })
    }

    /// Whether the other lanes are in a scope around one of these.
    pub(super) fn reaches(self, scope: Scope, other: Self) -> bool {
        distance((self.launch, self.block), Some((other.launch, other.block))) <= scope
    }
}
