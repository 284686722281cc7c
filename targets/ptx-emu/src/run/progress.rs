//! Forward progress of the lanes of a warp from `sm_70` on, although lanes wait for each other at
//! reconvergence points.
//!
//! Every lane must eventually make progress: a lane that owns a lock, or will set a flag, must
//! not wait for lanes that wait for it. Hardware leaves yielding lanes behind; here a wait is
//! abandoned as soon as no group of the warp makes progress. A group that is ready makes progress,
//! unless it is spinning, of which there are three signs:
//!
//! * The [`ControlRegisters`](crate::code::ControlRegisters) of each of its lanes have the same
//!   values as before at the same instruction, and it has changed no memory since. It repeats
//!   itself until another thread changes the memory that it reads. This never applies to a long
//!   computation, but to a loop that counts its polls.
//! * Its lanes have polled memory that others change [`MANY_POLLS`](super::spinning::MANY_POLLS)
//!   times, by volatile or ordered loads or by atomic operations without effect, and each time
//!   found the same values. This covers waits with a deadline, and waits that count their polls in
//!   memory. A computation may poll too: only the number of polls distinguishes the two.
//! * Its lanes came back to the same values of those registers [`ROUNDS`] times, each after
//!   [`SOME_POLLS`] atomic operations or volatile or ordered loads, whatever they changed in memory
//!   meanwhile. This covers lanes that take a semaphore and release it, or count by atomics.
//!
//! These are remembered while lanes have to reconverge: lanes that wait for a lock wait for any
//! owner of it. But a group that makes progress and changes memory, or begins to wait, may have
//! ended the others' wait. They must poll once more before they count as spinning again, and
//! sleeping ones must wake up. A group that comes back to the same registers does not count as
//! such, or two of them would wake each other forever.
//!
//! A group that polls mapped memory waits for the host, not for a lane: it makes progress for
//! [`HOST`], whatever the signs. Not longer, because the host's answer may depend on a lane that
//! waits here and has yet to publish its request.
//!
//! No sign is certain to come: a loop may change registers and memory in each round. So a group
//! also continues alone once its warp has done [`LIMIT`] since the group came, and each lane makes
//! progress in the end. This limit and the host's time are halved each time they end a wait, so
//! that a queue of lanes takes twice as long as one, however many they are.
//!
//! Groups that sleep, or wait at a barrier or for the lanes of an instruction, make no progress
//! either: the first wait by definition, the others may wait for groups that wait here. One wait
//! is abandoned at a time, the innermost first, since that affects the fewest lanes; but no wait is
//! passed over more often than a warp has lanes.

use std::time::{Duration, Instant};

use super::group::{Group, State};
use super::spinning::{CycleDetector, Polling, ROUNDS, Rounds, SOME_POLLS};
use super::warp::Warp;
use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::code::Function;
use crate::memory;

/// Instructions of a warp that end a wait for its other lanes in any case: half an hour of
/// computing, or some seconds of polling.
const LIMIT: u64 = 1 << 36;

/// Instructions that a poll or an atomic operation counts for, and a microsecond of sleep.
const ACCESS: u64 = 1 << 14;

/// How long a group that polls mapped memory without success waits for the host.
const HOST: Duration = Duration::from_secs(5);

/// How often the limit and the host's time are halved at most.
const MAX_HALVINGS: u32 = 10;

/// Polled addresses whose last values are kept. No thread waits for more at once.
const POLLED_ADDRESSES: usize = 64;

impl Warp {
    fn is_in_cycle(&self, group: &Group) -> bool {
        let is_found = || lanes_of(group.lanes).all(|lane| self.cycles[lane].times > 0);
        group.polling.is_spinning()
            || group.polling.acted == 0 && is_found()
            || self.comes_back(group, ROUNDS)
    }

    /// Whether the lanes of a group came back to the same registers so often.
    fn comes_back(&self, group: &Group, times: u32) -> bool {
        lanes_of(group.lanes).all(|lane| self.rounds[lane].cycle.times >= times)
    }

    /// Whether a group is taken to wait for the host.
    fn waits_for_host(&self, group: &Group) -> bool {
        let time = HOST / (1 << self.halvings);
        group
            .polling
            .host
            .is_some_and(|since| since.elapsed() < time)
    }

    /// Lanes of a group make progress: resets their cycle detection.
    fn leave_cycles(&mut self, at: usize) {
        lanes_of(self.groups[at].lanes)
            .for_each(|lane| self.cycles[lane] = CycleDetector::default());
    }

    pub(super) fn no_group_progresses(&self) -> bool {
        let progresses = |group: &Group| match group.state {
            State::Ready => !self.is_in_cycle(group) || self.waits_for_host(group),
            State::Sleeping { .. } => group.polling.is_due || self.waits_for_host(group),
            _ => false,
        };
        !self.groups.iter().any(progresses)
    }

    /// A group that has waited for others of its branch until the limit.
    fn overdue(&self) -> Option<usize> {
        let (at, _, work) = self.waiting().min_by_key(|&(_, _, work)| work)?;
        (self.work - work >= LIMIT >> self.halvings).then_some(at)
    }

    /// If no group makes progress, or one has waited until the limit, makes one that waits for
    /// others of its branch continue.
    pub(super) fn give_up_if_stuck(&mut self) {
        if self.reconvergences.is_empty() {
            return;
        }
        let overdue = self.overdue();
        if overdue.is_none() && !self.no_group_progresses() {
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
        if overdue.is_some() || self.groups.iter().any(|group| group.polling.host.is_some()) {
            self.halvings = (self.halvings + 1).min(MAX_HALVINGS);
        }
        for group in &mut self.groups {
            group.polling.host = None;
        }
        self.given_up += 1;
        // The others are still spinning, until they find another value.
        self.leave_cycles(at);
        lanes_of(self.groups[at].lanes).for_each(|lane| self.rounds[lane] = Rounds::default());
        self.groups[at].polling = Polling::default();
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

    /// Records a poll of memory that others change, and its value.
    pub(super) fn record_poll(
        &mut self,
        at: usize,
        (place, value): (u64, u64),
        functions: &[Function],
    ) {
        let known = self.found.iter_mut().find(|known| known.0 == place);
        let last = known.map(|known| std::mem::replace(&mut known.1, value));
        if last.is_none() {
            if self.found.len() == POLLED_ADDRESSES {
                self.found.clear();
            }
            self.found.push((place, value));
        }
        let Group { lanes, polling, .. } = &mut self.groups[at];
        let lanes = *lanes;
        let is_changed = last.is_some_and(|last| last != value);
        let is_new = polling.acted != 0 || is_changed;
        if is_new {
            *polling = Polling::default();
        }
        if memory::is_mapped(place) {
            if is_changed {
                // The host has answered.
                lanes_of(lanes).for_each(|lane| self.rounds[lane] = Rounds::default());
            } else {
                // From the first poll on: it may sleep until the second.
                polling.host.get_or_insert_with(Instant::now);
            }
        }
        if is_new {
            self.leave_cycles(at);
            return;
        }
        polling.polls = polling.polls.saturating_add(last.is_some().into());
        if last.is_none() || polling.polls >= SOME_POLLS {
            self.look_for_cycles(at, functions);
        }
    }

    /// Compares the states of a group's lanes with earlier ones while others wait: at each poll, and
    /// at the end of a turn.
    fn look_for_cycles(&mut self, at: usize, functions: &[Function]) {
        if self.needs_states(at) {
            let states = self.states_of(at, functions);
            for lane in lanes_of(self.groups[at].lanes) {
                self.cycles[lane].step(states[lane]);
            }
        }
    }

    /// A group has changed memory, the lanes `acted` by atomic operations. Those make progress: their
    /// wait may be over. Plain stores may be those of a loop that counts.
    pub(super) fn changed_memory(&mut self, at: usize, acted: Mask, is_its_own: bool) {
        self.groups[at].polling.acted |= acted;
        self.leave_cycles(at);
        if is_its_own {
            return;
        }
        self.groups[at].polling.host = None;
        let group = &self.groups[at];
        // Spinning groups must not wake each other forever.
        if !self.is_in_cycle(group) && !self.comes_back(group, ROUNDS / 2) {
            self.recheck_others(at);
        }
    }

    pub(super) fn recheck_others(&mut self, at: usize) {
        let own = self.groups[at].lanes;
        for lane in lanes_of(!own) {
            self.cycles[lane].times = 0;
            let times = &mut self.rounds[lane].cycle.times;
            *times = (*times).min(ROUNDS / 2);
        }
        for (other, group) in self.groups.iter_mut().enumerate() {
            if other != at {
                group.polling.recheck();
            }
        }
    }

    /// Records instructions that the warp has executed.
    pub(super) fn record_work(&mut self, instructions: u64) {
        self.work += instructions;
    }

    /// Records that a group has polled `place`, or changed memory. How fast it polls does not limit its wait for
    /// the host.
    pub(super) fn record_access(&mut self, at: usize, place: Option<u64>, functions: &[Function]) {
        let is_of_host = place.is_some_and(memory::is_mapped);
        if !is_of_host || !self.waits_for_host(&self.groups[at]) {
            self.record_work(ACCESS);
        }
        self.count_round(at, 1, functions);
    }

    /// A group begins to sleep: forgets earlier events.
    pub(super) fn sleep(&mut self, at: usize, nanoseconds: u64, functions: &[Function]) {
        self.record_work(nanoseconds * ACCESS / 1000);
        self.count_round(at, SOME_POLLS, functions);
        self.groups[at].polling.is_due = false;
    }

    /// At the end of a turn, compares the states of a group's lanes with earlier ones.
    pub(super) fn end_of_turn(&mut self, at: usize, functions: &[Function]) {
        self.look_for_cycles(at, functions);
        self.count_round(at, 1, functions);
    }

    /// Every [`SOME_POLLS`] steps, compares the states of a group's lanes with earlier ones, memory
    /// disregarded, while others wait.
    fn count_round(&mut self, at: usize, steps: u32, functions: &[Function]) {
        if !self.needs_states(at) {
            return;
        }
        let lanes = self.groups[at].lanes;
        let mut is_due = false;
        for lane in lanes_of(lanes) {
            let rounds = &mut self.rounds[lane];
            rounds.steps += steps;
            is_due |= rounds.steps >= SOME_POLLS;
        }
        if !is_due {
            return;
        }
        let states = self.states_of(at, functions);
        for lane in lanes_of(lanes) {
            let rounds = &mut self.rounds[lane];
            if rounds.steps >= SOME_POLLS {
                rounds.steps = 0;
                rounds.cycle.step(states[lane]);
            }
        }
    }

    /// Whether others wait, and only its states tell whether a group is spinning.
    fn needs_states(&self, at: usize) -> bool {
        self.has_waiting() && !self.groups[at].polling.is_spinning()
    }

    /// A hash of the state of each lane of a group, except for memory.
    fn states_of(&self, at: usize, functions: &[Function]) -> Lanes {
        // A quick hash; only equal states must have equal hashes.
        let mut hashes = [0u64; LANES];
        let add = |hash: &mut u64, value: u64| {
            *hash = (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        };
        let group = &self.groups[at];
        let mut next = Some((group.frame, group.pc));
        while let Some((frame, pc)) = next {
            let frame = self.frames.get(frame);
            let control_registers = &functions[frame.function as usize].control_registers;
            for lane in lanes_of(group.lanes) {
                let hash = &mut hashes[lane];
                add(hash, u64::from(pc) << 32 | u64::from(frame.function));
                add(
                    hash,
                    u64::from(frame.base) << 1 | u64::from(frame.carry >> lane & 1),
                );
                for &register in &control_registers.regs {
                    add(hash, frame.reg(register)[lane]);
                }
                for &pred in &control_registers.preds {
                    add(hash, (frame.preds[pred as usize] >> lane & 1).into());
                }
            }
            next = frame.caller;
        }
        hashes
    }
}
