//! Where lanes that diverged meet again from `sm_70` on, and when one stops waiting for another.
//!
//! Compilers for these devices have the lanes of a branch meet at its post-dominator (BSSY and
//! BSYNC in NVIDIA's machine code), and device code relies on it: GCC ends a `simd` region with
//! stores to the stack pointers that all lanes of a warp share, which are wrong as long as one
//! lane is still inside a function. So a group of lanes that comes to such a point waits there
//! for the others of its branch.
//!
//! But every lane must get on in the end: one that has a lock, or has yet to set a flag, must not
//! wait for lanes that wait for it. Hardware lets lanes that yield be left behind; here a wait is
//! given up as soon as no group of the warp gets on. A group gets on that is ready to run, unless
//! it goes in circles, of which there are three signs:
//!
//! * The registers that decide what each of its lanes does next
//!   ([`Deciding`](crate::code::Deciding)) have the values that they had before, at the same
//!   instruction, and it has changed no memory since. Whatever it does next, it will do for ever,
//!   until somebody else changes what it reads. Such a group is never one that computes, however
//!   long; one that counts how often it asks is one.
//! * Its lanes have asked [`MANY`] times for memory that others change, with volatile loads,
//!   ordered ones, or atomic operations without effect, and found the same as the last time. So
//!   do those that wait up to a deadline, or count in memory how often they ask. A loop that
//!   computes may ask, too: its length alone tells the two apart.
//! * Its lanes came back to the same values of those registers [`ROUNDS`] times, each after
//!   [`SEVERAL`] atomic operations or other accesses of that kind, whatever they changed in memory
//!   meanwhile. So do those that take a semaphore and give it back, or count by atomic operations.
//!
//! These are remembered as long as lanes have yet to meet: lanes that wait for a lock wait for it
//! whichever of them has it. But a group that gets on and changes memory, or begins to wait, may
//! have given the others what they wait for. They have to ask once more before they are taken to
//! go in circles again, and those that sleep have to wake up. A group that comes back to the same
//! registers does not count as such, or two of them would wake each other for ever.
//!
//! A group that polls mapped memory waits for the host, not for a lane: it gets on for [`HOST`],
//! whatever the signs. Not for ever, because the host's answer may depend on a lane that waits
//! here and has yet to publish its request.
//!
//! No sign is certain to come: a loop may change registers and memory in each round. So a group
//! also goes on alone once its warp has done [`LIMIT`] since it came, whatever the others do. In
//! that way each lane gets on in the end. This limit and the host's time are halved each time they
//! end a wait, so that lanes that queue up take twice as long as one, however many they are.
//!
//! Groups that sleep, or wait at a barrier or for lanes that an instruction names, do not get on
//! either: the first say themselves that they wait, the others may wait for those that wait here.
//! One wait is given up at a time, the innermost first, for that disturbs the fewest; but none is
//! passed over more often than a warp has lanes.

use std::time::{Duration, Instant};

use super::frame::FrameId;
use super::warp::{Group, State, Warp};
use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::code::op::Pc;
use crate::code::{Function, NOWHERE};
use crate::memory;

/// How often a group asks in vain before it is taken to wait for somebody: more often than loops
/// run whose bound is volatile, and few enough for a fraction of a second.
const MANY: u32 = 1 << 14;

/// How often it asks before its registers are compared where it asks.
const SEVERAL: u32 = 64;

/// How often a group that changes memory comes back to the same registers before it is taken to
/// wait for somebody.
const ROUNDS: u32 = MANY / SEVERAL;

/// How much a warp does, in instructions, before a wait for its other lanes ends in any case: half
/// an hour of computing, or some seconds of asking.
const LIMIT: u64 = 1 << 36;

/// Instructions that an access counts for which loops wait with, and a microsecond of sleep.
const ACCESS: u64 = 1 << 14;

/// For how long a group that polls mapped memory in vain is taken to wait for the host.
const HOST: Duration = Duration::from_secs(5);

/// How often the limit and the host's time are halved at most.
const MOST_HALVINGS: u32 = 10;

/// Places of which it is known what was found there last. Nobody waits for more at once.
const PLACES: usize = 64;

/// A point where lanes of a branch meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reconvergence {
    frame: FrameId,
    pc: Pc,
    lanes: Mask,
}

impl Reconvergence {
    fn is_at(&self, group: &Group) -> bool {
        self.frame == group.frame && self.pc == group.pc
    }
}

/// What is known of a lane while others of its warp wait. Source of how circles are found:
/// Brent, "An Improved Monte Carlo Factorization Algorithm" (1980).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Circle {
    /// A state that the lane was in.
    saved: u64,
    /// States since, and after how many the next is saved.
    steps: u32,
    limit: u32,
    /// How often the lane came back to it, and after how many steps at most.
    times: u32,
    longest: u32,
}

impl Circle {
    fn step(&mut self, state: u64) {
        if self.limit > 0 && self.saved == state {
            self.times = self.times.saturating_add(1);
            self.longest = self.longest.max(self.steps);
            self.steps = 0;
            if self.times >= ROUNDS / 2 {
                // Whatever it did before, it is to be noticed soon when it leaves.
                self.limit = self.limit.min(4 * (self.longest + 1));
            }
        } else if self.steps >= self.limit {
            *self = Self {
                saved: state,
                steps: 0,
                limit: self.limit.max(1).saturating_mul(2),
                // It has left its circle, if it was in one.
                times: 0,
                longest: 0,
            };
        } else {
            self.steps += 1;
        }
    }
}

/// What is known of a lane, memory disregarded, while others of its warp wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    circle: Circle,
    /// Accesses and turns since its state was last compared.
    steps: u32,
}

/// What is known of a group while others of its warp wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asking {
    /// How often it asked in vain for memory that others change.
    polls: u32,
    /// Lanes whose last atomic operation had an effect: they may have what they waited for.
    acted: Mask,
    /// Whether something happened that it may wait for, since it began to sleep.
    is_due: bool,
    /// Since when it has polled mapped memory in vain, and changed nothing.
    host: Option<Instant>,
}

impl Asking {
    /// What is known of `lanes`, which part from the others.
    pub(super) fn of(&self, lanes: Mask) -> Self {
        if self.acted & lanes != 0 {
            return Self::default();
        }
        Self { acted: 0, ..*self }
    }

    /// Something happened that may be what the group waits for.
    fn recheck(&mut self) {
        self.polls = self.polls.min(MANY - 1);
        self.is_due = true;
    }

    /// Lanes of another group join those of this one.
    pub(super) fn merge(&mut self, other: &Self) {
        self.polls = self.polls.max(other.polls);
        self.acted |= other.acted;
        self.host = match (self.host, other.host) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
    }
}

impl Warp {
    /// Lanes of a branch in `group` are to meet at an instruction of a frame.
    pub(super) fn reconverge(&mut self, frame: FrameId, pc: Pc, lanes: Mask) {
        let covers =
            |it: &&Reconvergence| it.frame == frame && it.pc == pc && lanes & !it.lanes == 0;
        if self.reconvergences.is_empty() {
            self.forget_circles();
        }
        // In a loop that lanes leave one after the other there is one for all.
        if self.reconvergences.iter().find(covers).is_none() {
            self.reconvergences.push(Reconvergence { frame, pc, lanes });
        }
    }

    /// The next point further down in its call where a group is to meet others.
    #[inline]
    pub(super) fn next_reconvergence(&self, group: &Group) -> Pc {
        let mut next = NOWHERE;
        for it in &self.reconvergences {
            let is_its = it.frame == group.frame && it.lanes & group.lanes != 0;
            if is_its && it.pc > group.pc && it.pc < next {
                next = it.pc;
            }
        }
        next
    }

    /// The lanes that those of `group`, where it is, are to meet there.
    fn expected(&self, group: &Group) -> Mask {
        let its = |it: &&Reconvergence| it.is_at(group) && it.lanes & group.lanes != 0;
        let lanes = self.reconvergences.iter().filter(its);
        lanes.fold(0, |all, it| all | it.lanes) & self.live()
    }

    /// The group has come to an instruction; whether it waits there for others of a branch.
    pub(super) fn waits_at_reconvergence(&mut self, at: &mut usize) -> bool {
        if self.reconvergences.is_empty() {
            return false;
        }
        let expected = self.expected(&self.groups[*at]);
        if expected == 0 {
            return false;
        }
        let mut other = 0;
        while other < self.groups.len() {
            let (me, it) = (self.groups[*at], self.groups[other]);
            let is_waiting = matches!(it.state, State::Reconverging { .. });
            let is_here = it.frame == me.frame && it.pc == me.pc;
            if other == *at || !is_waiting || !is_here || it.lanes & expected == 0 {
                other += 1;
                continue;
            }
            self.merge(at, other);
        }
        let me = self.groups[*at];
        let expected = self.expected(&me);
        if expected & !me.lanes == 0 {
            let live = self.live();
            let is_over = |it: &Reconvergence| it.is_at(&me) && it.lanes & live & !me.lanes == 0;
            self.reconvergences.retain(|it| !is_over(it));
            return false;
        }
        self.recheck_others(*at);
        lanes_of(me.lanes).for_each(|lane| self.rounds[lane] = Rounds::default());
        self.groups[*at].state = State::Reconverging {
            since: self.given_up,
            work: self.work,
        };
        true
    }

    /// Whether lanes have yet to meet.
    pub(super) fn is_diverged(&self) -> bool {
        !self.reconvergences.is_empty()
    }

    /// Whether a group waits for others of its branch.
    pub(super) fn has_waiting(&self) -> bool {
        !self.reconvergences.is_empty() && self.waiting().next().is_some()
    }

    /// Groups that wait, and what was given up and done in the warp when they began.
    fn waiting(&self) -> impl Iterator<Item = (usize, u64, u64)> {
        let groups = self.groups.iter().enumerate();
        groups.filter_map(|(at, group)| match group.state {
            State::Reconverging { since, work } => Some((at, since, work)),
            _ => None,
        })
    }

    fn forget_circles(&mut self) {
        self.found.clear();
        self.circles = [Circle::default(); LANES];
        self.rounds = [Rounds::default(); LANES];
        self.halvings = 0;
        for group in &mut self.groups {
            group.asking = Asking::default();
        }
    }

    /// Lanes have ended, for which nobody is to wait.
    pub(super) fn reconverge_without_ended(&mut self) {
        if self.reconvergences.is_empty() {
            return;
        }
        let live = self.live();
        self.reconvergences
            .retain(|it| (it.lanes & live).count_ones() > 1);
        for group in &mut self.groups {
            if let State::Reconverging { .. } = group.state {
                // It looks again.
                group.state = State::Ready;
            }
        }
    }

    fn is_in_circles(&self, group: &Group) -> bool {
        let asking = &group.asking;
        let is_found = || lanes_of(group.lanes).all(|lane| self.circles[lane].times > 0);
        asking.acted == 0 && (asking.polls >= MANY || is_found()) || self.comes_back(group, ROUNDS)
    }

    /// Whether the lanes of a group came back to the same registers so often.
    fn comes_back(&self, group: &Group, times: u32) -> bool {
        lanes_of(group.lanes).all(|lane| self.rounds[lane].circle.times >= times)
    }

    /// Whether a group is taken to wait for the host.
    fn waits_for_host(&self, group: &Group) -> bool {
        let time = HOST / (1 << self.halvings);
        group
            .asking
            .host
            .is_some_and(|since| since.elapsed() < time)
    }

    /// Lanes of a group do what they have not done before.
    fn leave_circles(&mut self, at: usize) {
        lanes_of(self.groups[at].lanes).for_each(|lane| self.circles[lane] = Circle::default());
    }

    pub(super) fn no_group_gets_on(&self) -> bool {
        let gets_on = |group: &Group| match group.state {
            State::Ready => !self.is_in_circles(group) || self.waits_for_host(group),
            State::Sleeping { .. } => group.asking.is_due || self.waits_for_host(group),
            _ => false,
        };
        !self.groups.iter().any(gets_on)
    }

    /// A group that has waited for others of its branch until the limit.
    fn overdue(&self) -> Option<usize> {
        let (at, _, work) = self.waiting().min_by_key(|&(_, _, work)| work)?;
        (self.work - work >= LIMIT >> self.halvings).then_some(at)
    }

    /// If no group gets on, or one has waited until the limit, has one that waits for others of its
    /// branch go on without them.
    pub(super) fn give_up_if_stuck(&mut self) {
        if self.reconvergences.is_empty() {
            return;
        }
        let overdue = self.overdue();
        if overdue.is_none() && !self.no_group_gets_on() {
            return;
        }
        let inner = |&(at, ..): &(usize, u64, u64)| {
            let group = &self.groups[at];
            (u32::MAX - self.frames.get(group.frame).depth, group.pc)
        };
        let oldest = self.waiting().min_by_key(|&(_, since, _)| since);
        let is_old = |&(_, since, _): &(usize, u64, u64)| self.given_up - since >= LANES as u64;
        let innermost = || self.waiting().min_by_key(inner);
        let found = || oldest.filter(is_old).or_else(innermost);
        let Some(at) = overdue.or_else(|| found().map(|(at, ..)| at)) else {
            return;
        };
        if overdue.is_some() || self.groups.iter().any(|group| group.asking.host.is_some()) {
            self.halvings = (self.halvings + 1).min(MOST_HALVINGS);
        }
        for group in &mut self.groups {
            group.asking.host = None;
        }
        self.given_up += 1;
        // The others still go in circles, until they find something new.
        self.leave_circles(at);
        lanes_of(self.groups[at].lanes).for_each(|lane| self.rounds[lane] = Rounds::default());
        self.groups[at].asking = Asking::default();
        self.groups[at].state = State::Ready;
        let group = self.groups[at];
        for it in &mut self.reconvergences {
            if it.is_at(&group) {
                it.lanes &= !group.lanes;
            }
        }
        let live = self.live();
        self.reconvergences
            .retain(|it| (it.lanes & live).count_ones() > 1);
    }

    /// A group has asked for memory that others change, and found something.
    pub(super) fn has_asked(
        &mut self,
        at: usize,
        (place, value): (u64, u64),
        functions: &[Function],
    ) {
        let known = self.found.iter_mut().find(|known| known.0 == place);
        let last = known.map(|known| std::mem::replace(&mut known.1, value));
        if last.is_none() {
            if self.found.len() == PLACES {
                self.found.clear();
            }
            self.found.push((place, value));
        }
        let asking = &mut self.groups[at].asking;
        if asking.acted != 0 || last.is_some_and(|last| last != value) {
            *asking = Asking::default();
            self.leave_circles(at);
            return;
        }
        asking.polls = asking.polls.saturating_add(last.is_some().into());
        if last.is_some() && memory::is_mapped(place) {
            asking.host.get_or_insert_with(Instant::now);
        }
        if last.is_none() || asking.polls >= SEVERAL {
            self.look_for_circles(at, functions);
        }
    }

    /// Compares the lanes of a group with what they were before, while others wait: where they ask,
    /// and at the end of a turn.
    fn look_for_circles(&mut self, at: usize, functions: &[Function]) {
        if self.has_waiting() {
            let states = self.states_of(at, functions);
            for lane in lanes_of(self.groups[at].lanes) {
                self.circles[lane].step(states[lane]);
            }
        }
    }

    /// A group has changed memory, `acted` of it by atomic operations. Those get on: they may have
    /// what they waited for. Plain stores may be those of a loop that counts.
    pub(super) fn changed_memory(&mut self, at: usize, acted: Mask, is_its_own: bool) {
        self.groups[at].asking.acted |= acted;
        self.leave_circles(at);
        if is_its_own {
            return;
        }
        self.groups[at].asking.host = None;
        let group = &self.groups[at];
        // Groups that go in circles must not wake each other for ever.
        if !self.is_in_circles(group) && !self.comes_back(group, ROUNDS / 2) {
            self.recheck_others(at);
        }
    }

    fn recheck_others(&mut self, at: usize) {
        let own = self.groups[at].lanes;
        for lane in lanes_of(!own) {
            self.circles[lane].times = 0;
            let times = &mut self.rounds[lane].circle.times;
            *times = (*times).min(ROUNDS / 2);
        }
        for (other, group) in self.groups.iter_mut().enumerate() {
            if other != at {
                group.asking.recheck();
            }
        }
    }

    /// The warp has executed instructions.
    pub(super) fn has_worked(&mut self, instructions: u64) {
        self.work += instructions;
    }

    /// A group has done what loops wait with.
    pub(super) fn has_accessed(&mut self, at: usize, functions: &[Function]) {
        self.has_worked(ACCESS);
        self.count_round(at, 1, functions);
    }

    /// A group begins to sleep, whatever happened before.
    pub(super) fn sleep(&mut self, at: usize, nanoseconds: u64, functions: &[Function]) {
        self.has_worked(nanoseconds * ACCESS / 1000);
        self.count_round(at, SEVERAL, functions);
        self.groups[at].asking.is_due = false;
    }

    /// At the end of a turn, compares the lanes of a group with what they were before.
    pub(super) fn end_of_turn(&mut self, at: usize, functions: &[Function]) {
        self.look_for_circles(at, functions);
        self.count_round(at, 1, functions);
    }

    /// Now and then compares the lanes of a group with what they were before, memory disregarded,
    /// while others wait.
    fn count_round(&mut self, at: usize, steps: u32, functions: &[Function]) {
        if !self.has_waiting() {
            return;
        }
        let lanes = self.groups[at].lanes;
        let mut is_due = false;
        for lane in lanes_of(lanes) {
            let rounds = &mut self.rounds[lane];
            rounds.steps += steps;
            is_due |= rounds.steps >= SEVERAL;
        }
        if !is_due {
            return;
        }
        let states = self.states_of(at, functions);
        for lane in lanes_of(lanes) {
            let rounds = &mut self.rounds[lane];
            if rounds.steps >= SEVERAL {
                rounds.steps = 0;
                rounds.circle.step(states[lane]);
            }
        }
    }

    /// All that decides what each lane of a group does next, but for memory.
    fn states_of(&self, at: usize, functions: &[Function]) -> Lanes {
        // Quick, and equal states alone must be equal.
        let mut hashes = [0u64; LANES];
        let add = |hash: &mut u64, value: u64| {
            *hash = (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        };
        let group = &self.groups[at];
        let mut next = Some((group.frame, group.pc));
        while let Some((frame, pc)) = next {
            let frame = self.frames.get(frame);
            let deciding = &functions[frame.function as usize].deciding;
            for lane in lanes_of(group.lanes) {
                let hash = &mut hashes[lane];
                add(hash, u64::from(pc) << 32 | u64::from(frame.function));
                add(
                    hash,
                    u64::from(frame.base) << 1 | u64::from(frame.carry >> lane & 1),
                );
                for &register in &deciding.regs {
                    add(hash, frame.regs[register as usize][lane]);
                }
                for &pred in &deciding.preds {
                    add(hash, (frame.preds[pred as usize] >> lane & 1).into());
                }
            }
            next = frame.caller;
        }
        hashes
    }
}
