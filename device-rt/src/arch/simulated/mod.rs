//! Warps for tests on machines without a GPU. A thread that a test makes a lane of a simulated
//! warp uses that warp; every other thread uses the `host` architecture.
//!
//! It simulates no instructions, and so neither weaker memory models nor a compiler's changes to a
//! divergent loop. Nor does it simulate the wait of a lane that has left a loop for neighbours that
//! still wait for replies in it.

extern crate std;

mod warp;

use core::panic::Location;
use std::boxed::Box;
use std::cell::RefCell;
use std::sync::Arc;
use std::thread;

use super::host;
pub(crate) use warp::Scheduling;
use warp::{Warp, WarpOp};

/// A lane's view of its warp.
struct Lane {
    warp: Arc<Warp>,
    lane: u32,
    /// Whether the lane waits for a reply now, rather than for something that a neighbour may own.
    replying: Box<dyn Fn() -> bool>,
}

std::thread_local! {
    static LANE: RefCell<Option<Lane>> = const { RefCell::new(None) };
}

/// The calling thread's warp and lane.
fn current_lane() -> Option<(Arc<Warp>, u32)> {
    LANE.with_borrow(|lane| lane.as_ref().map(|l| (Arc::clone(&l.warp), l.lane)))
}

/// Fails the warp when a lane of it panics, so that its neighbours do not wait for it.
struct Enrolled;

impl Drop for Enrolled {
    fn drop(&mut self) {
        if let Some((warp, lane)) = current_lane()
            && thread::panicking()
        {
            warp.fail(&std::format!("lane {lane} panicked"));
        }
        LANE.set(None);
    }
}

/// Runs `body` in the `lanes` lanes of a warp, with the lane's number. Panics if a lane panics,
/// if the warp cannot make progress, or if it takes too long.
pub(crate) fn run(scheduling: Scheduling, lanes: u32, seed: u64, body: impl Fn(u32) + Sync) {
    let warp = Warp::new(scheduling, lanes, seed);
    let (warp, body) = (&warp, &body);
    thread::scope(|scope| {
        for lane in 0..lanes {
            scope.spawn(move || {
                LANE.set(Some(Lane {
                    warp: Arc::clone(warp),
                    lane,
                    replying: Box::new(|| false),
                }));
                let enrolled = Enrolled;
                warp.start(lane);
                body(lane);
                warp.end(lane);
                drop(enrolled);
            });
        }
    });
}

/// Tells the simulation when the calling lane waits for a reply. Lanes may wait for replies
/// together; every other wait is for a slot or an extent, and in lock-step stops the neighbours.
pub(crate) fn replying_when(replying: impl Fn() -> bool + 'static) {
    LANE.with_borrow_mut(|lane| {
        if let Some(lane) = lane {
            lane.replying = Box::new(replying);
        }
    });
}

/// Implements the architecture's `pause`.
pub fn pause(attempt: u32) {
    let Some((warp, lane)) = current_lane() else {
        return host::pause(attempt);
    };
    let replying = LANE.with_borrow(|lane| lane.as_ref().is_some_and(|l| (l.replying)()));
    warp.pause(lane, replying);
}

/// Implements the architecture's `warp_size`.
#[must_use]
pub fn warp_size() -> u32 {
    current_lane().map_or_else(host::warp_size, |(warp, _)| warp.size())
}

/// Implements the architecture's `independent_lanes`.
#[must_use]
pub fn independent_lanes() -> bool {
    current_lane().map_or_else(host::independent_lanes, |(warp, _)| warp.is_independent())
}

/// Implements the architecture's `lane`.
#[must_use]
pub fn lane() -> u32 {
    current_lane().map_or_else(host::lane, |(_, lane)| lane)
}

/// Implements the architecture's `active_lanes`: lanes that call it from the same location are
/// together.
#[must_use]
#[track_caller]
pub fn active_lanes() -> u64 {
    let place = Location::caller();
    current_lane().map_or_else(host::active_lanes, |(warp, lane)| {
        warp.active_lanes(lane, place)
    })
}

/// Implements the architecture's `first`.
///
/// # Safety
/// None is required: lanes that do not come together fail the test.
#[must_use]
pub unsafe fn first(lanes: u64, value: u32) -> u32 {
    match current_lane() {
        Some((warp, lane)) => warp.operate(lane, WarpOp::First, lanes, value) as u32,
        // SAFETY: the host's version has no requirements.
        None => unsafe { host::first(lanes, value) },
    }
}

/// Implements the architecture's `any`.
///
/// # Safety
/// As for [`first`].
#[must_use]
pub unsafe fn any(lanes: u64, vote: bool) -> bool {
    match current_lane() {
        Some((warp, lane)) => warp.operate(lane, WarpOp::Any, lanes, vote.into()) != 0,
        // SAFETY: the host's version has no requirements.
        None => unsafe { host::any(lanes, vote) },
    }
}

/// Implements the architecture's `ballot`.
///
/// # Safety
/// As for [`first`].
#[must_use]
pub unsafe fn ballot(lanes: u64, vote: bool) -> u64 {
    match current_lane() {
        Some((warp, lane)) => warp.operate(lane, WarpOp::Ballot, lanes, vote.into()),
        // SAFETY: the host's version has no requirements.
        None => unsafe { host::ballot(lanes, vote) },
    }
}

/// Implements the architecture's `converge`.
///
/// # Safety
/// As for [`first`].
pub unsafe fn converge(lanes: u64) {
    match current_lane() {
        Some((warp, lane)) => {
            warp.operate(lane, WarpOp::Converge, lanes, 0);
        }
        // SAFETY: the host's version has no requirements.
        None => unsafe { host::converge(lanes) },
    }
}
