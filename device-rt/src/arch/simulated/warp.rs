//! A warp whose lanes are threads of the operating system.

extern crate std;

use core::fmt::Write;
use core::panic::Location;
use core::time::Duration;
use std::collections::BTreeMap;
use std::string::String;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::vec::Vec;
use std::{format, thread, vec};

/// The time after which a test counts as stuck.
const LIMIT: Duration = Duration::from_secs(30);

/// The longest time that independent lanes wait to be active together.
const LINGER_MICROS: u64 = 300;

/// How the lanes of a warp make progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheduling {
    /// One lane runs at a time, until it reaches a warp operation or waits for a reply. A lane that
    /// waits for anything else stops the others, as on hardware, where a lane that has left a loop
    /// waits for its neighbours.
    LockStep,
    /// Lanes run independently, and are together by chance.
    Independent,
}

/// A warp operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpOp {
    First,
    Any,
    Ballot,
    Converge,
}

/// The state of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaneState {
    /// Running.
    Running,
    /// At a query of the active lanes.
    Query(&'static Location<'static>),
    /// At a warp operation of the lanes of a mask, with this lane's value.
    Operation(WarpOp, u64, u32),
    /// Ended.
    Ended,
}

impl LaneState {
    /// The operation and its mask, without the lane's value.
    fn operation(self) -> Option<(WarpOp, u64)> {
        match self {
            LaneState::Operation(what, mask, _) => Some((what, mask)),
            _ => None,
        }
    }
}

pub(crate) struct Warp {
    scheduling: Scheduling,
    size: u32,
    deadline: Instant,
    lanes: Mutex<Lanes>,
    wake: Vec<Condvar>,
}

struct Lanes {
    at: Vec<LaneState>,
    /// The result of each lane's last operation.
    answers: Vec<u64>,
    /// In lock-step, the lane that runs.
    turn: usize,
    random: u64,
    failed: Option<String>,
}

impl Lanes {
    /// A number below `end`: xorshift.
    fn random(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    /// The mask of the lanes for which `is` holds.
    fn mask_of(&self, is: impl Fn(LaneState) -> bool) -> u64 {
        let bits = self.at.iter().enumerate();
        bits.fold(0, |mask, (lane, &at)| mask | (u64::from(is(at)) << lane))
    }

    /// The state of each lane, as text.
    fn report(&self) -> String {
        let mut places = BTreeMap::<String, Vec<usize>>::new();
        for (lane, at) in self.at.iter().enumerate() {
            places.entry(format!("{at:x?}")).or_default().push(lane);
        }
        let mut text = String::new();
        for (place, lanes) in places {
            let _ = write!(text, "\n  {place}: lanes {lanes:?}");
        }
        text
    }
}

impl Warp {
    pub(crate) fn new(scheduling: Scheduling, size: u32, seed: u64) -> Arc<Self> {
        assert!((1..=64).contains(&size));
        let lanes = size as usize;
        Arc::new(Self {
            scheduling,
            size,
            deadline: Instant::now() + LIMIT,
            lanes: Mutex::new(Lanes {
                at: vec![LaneState::Running; lanes],
                answers: vec![0; lanes],
                turn: 0,
                random: seed | 1 << 63,
                failed: None,
            }),
            wake: (0..lanes).map(|_| Condvar::new()).collect(),
        })
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    pub(crate) fn is_independent(&self) -> bool {
        self.scheduling == Scheduling::Independent
    }

    /// Waits until the lane may run for the first time.
    pub(crate) fn start(&self, lane: u32) {
        self.resume(self.lock(), lane);
    }

    /// The lane is done. In lock-step, lanes that were together end together.
    pub(crate) fn end(&self, lane: u32) {
        if !self.is_independent() {
            let all = u64::MAX >> (64 - self.size);
            self.operate(lane, WarpOp::Converge, all, 0);
        }
        let mut lanes = self.lock();
        lanes.at[lane as usize] = LaneState::Ended;
        self.go_on(&mut lanes);
    }

    /// The lanes that query the active lanes at `place` together with `lane`.
    pub(crate) fn active_lanes(&self, lane: u32, place: &'static Location<'static>) -> u64 {
        self.wait_at(lane, LaneState::Query(place))
    }

    /// Performs a warp operation with the other lanes of `mask`.
    pub(crate) fn operate(&self, lane: u32, what: WarpOp, mask: u64, value: u32) -> u64 {
        if mask & (1 << lane) == 0 {
            self.fail(&format!("lane {lane} is not in {mask:#x}, at {what:?}"));
        }
        self.wait_at(lane, LaneState::Operation(what, mask, value))
    }

    /// Lets other lanes run, if the scheduling allows.
    pub(crate) fn pause(&self, lane: u32, replying: bool) {
        thread::yield_now();
        let mut lanes = self.lock();
        if Instant::now() >= self.deadline {
            let waits = if replying { "a reply" } else { "something" };
            self.hangs(&mut lanes, &format!("lane {lane} waits for {waits}"));
        }
        if replying {
            self.go_on(&mut lanes);
        }
        self.resume(lanes, lane);
    }

    /// Makes all running lanes panic.
    pub(crate) fn fail(&self, why: &str) {
        self.fail_with(&mut self.lock(), why);
    }

    fn fail_with(&self, lanes: &mut Lanes, why: &str) {
        lanes.failed.get_or_insert_with(|| why.into());
        for wake in &self.wake {
            wake.notify_all();
        }
    }

    fn hangs(&self, lanes: &mut Lanes, why: &str) {
        let mut why = format!("the warp hangs: {why}{}", lanes.report());
        if !self.is_independent() {
            let _ = write!(why, "\n  of which the turn has lane {}", lanes.turn);
        }
        self.fail_with(lanes, &why);
    }

    fn lock(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_at(&self, lane: u32, at: LaneState) -> u64 {
        let mut lanes = self.lock();
        lanes.at[lane as usize] = at;
        self.go_on(&mut lanes);
        self.resume(lanes, lane)
    }

    /// Waits until the lane may run; returns the result of its operation.
    fn resume(&self, mut lanes: MutexGuard<'_, Lanes>, lane: u32) -> u64 {
        let index = lane as usize;
        let lingers = Duration::from_micros(lanes.random(LINGER_MICROS));
        let lingers_until = Instant::now() + lingers;
        loop {
            if let Some(why) = &lanes.failed {
                let why = why.clone();
                drop(lanes);
                panic!("{why}");
            }
            let at = lanes.at[index];
            if at == LaneState::Running && (self.is_independent() || lanes.turn == index) {
                return lanes.answers[index];
            }
            let alone = self.is_independent() && matches!(at, LaneState::Query(_));
            let until = if alone { lingers_until } else { self.deadline };
            let now = Instant::now();
            if now < until {
                lanes = self.wake[index]
                    .wait_timeout(lanes, until - now)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            } else if alone {
                let together = lanes.mask_of(|other| other == at);
                self.answer(&mut lanes, together, together);
            } else {
                self.hangs(&mut lanes, &format!("lane {lane} waits for others"));
            }
        }
    }

    /// Completes operations whose lanes have all arrived and, in lock-step, lets a lane run that
    /// can.
    fn go_on(&self, lanes: &mut Lanes) {
        for index in 0..lanes.at.len() {
            if let Some(operation @ (what, mask)) = lanes.at[index].operation()
                && lanes.mask_of(|at| at.operation() == Some(operation)) & mask == mask
            {
                let answer = answer(lanes, what, mask);
                self.answer(lanes, mask, answer);
            }
        }
        if self.is_independent() {
            return;
        }
        // Lanes that vote have left the others, which continue without them.
        let rest = lanes.mask_of(|at| {
            at != LaneState::Ended && !matches!(at.operation(), Some((WarpOp::Any, _)))
        });
        let place = lanes
            .at
            .iter()
            .copied()
            .find(|at| matches!(at, LaneState::Query(_)));
        if let Some(place) = place
            && lanes.mask_of(|at| at == place) == rest
        {
            self.answer(lanes, rest, rest);
        }
        let ready = lanes.mask_of(|at| at == LaneState::Running);
        if ready != 0 {
            let skip = lanes.random(u64::from(ready.count_ones()));
            let rest = (0..skip).fold(ready, |rest, _| rest & (rest - 1));
            lanes.turn = rest.trailing_zeros() as usize;
            self.wake[lanes.turn].notify_all();
        } else if lanes.mask_of(|at| at == LaneState::Ended).count_ones() != self.size {
            self.hangs(lanes, "every lane waits for another");
        }
    }

    /// Lets the lanes of `mask` continue with the result `answer`.
    fn answer(&self, lanes: &mut Lanes, mask: u64, answer: u64) {
        for index in (0..self.size as usize).filter(|index| mask & (1 << index) != 0) {
            lanes.at[index] = LaneState::Running;
            lanes.answers[index] = answer;
            if self.is_independent() {
                self.wake[index].notify_all();
            }
        }
    }
}

/// The result of a complete operation.
fn answer(lanes: &Lanes, what: WarpOp, mask: u64) -> u64 {
    let brought = lanes
        .at
        .iter()
        .enumerate()
        .filter_map(|(lane, at)| match at {
            LaneState::Operation(_, _, value) if mask & (1 << lane) != 0 => Some(u64::from(*value)),
            _ => None,
        });
    match what {
        WarpOp::First => brought.take(1).sum(),
        WarpOp::Any => brought.fold(0, |all, value| all | value),
        WarpOp::Ballot => lanes.mask_of(|at| {
            matches!(at, LaneState::Operation(WarpOp::Ballot, among, value) if among == mask && value != 0)
        }),
        WarpOp::Converge => 0,
    }
}
