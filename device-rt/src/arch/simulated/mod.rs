//! Warps for the tests of a machine that has none: a thread that a test makes a lane
//! of a simulated warp gets the answers of that warp, every other thread those of the
//! `host` architecture.
//!
//! Not simulated: instructions, so neither memory models weaker than this machine's nor
//! what a compiler does to a divergent loop; and the wait of a lane behind the loop in
//! which its neighbours still wait for replies.

extern crate std;

mod warp;

use core::panic::Location;
use std::boxed::Box;
use std::cell::RefCell;
use std::sync::Arc;
use std::thread;

use super::host;
pub(crate) use warp::Scheduling;
use warp::{Together, Warp};

/// What a thread knows that is a lane.
struct Lane {
    warp: Arc<Warp>,
    lane: u32,
    /// Whether the lane waits for a reply now, and not for what a neighbour may hold.
    replying: Box<dyn Fn() -> bool>,
}

std::thread_local! {
    static LANE: RefCell<Option<Lane>> = const { RefCell::new(None) };
}

/// The warp and the lane that the calling thread is.
fn here() -> Option<(Arc<Warp>, u32)> {
    LANE.with_borrow(|lane| lane.as_ref().map(|l| (Arc::clone(&l.warp), l.lane)))
}

/// Fails the warp when a lane of it panics, so that its neighbours do not wait for it.
struct Enrolled;

impl Drop for Enrolled {
    fn drop(&mut self) {
        if let Some((warp, lane)) = here()
            && thread::panicking()
        {
            warp.fail(&std::format!("lane {lane} panicked"));
        }
        LANE.set(None);
    }
}

/// Runs `body` in the `lanes` lanes of a warp, to which it gets their number. Panics if
/// one of them does, if the warp cannot go on, or if it takes too long.
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

/// How the simulation tells waiting for a reply, which lanes do together, from waiting
/// for a slot or a run, which in lock-step keeps the neighbours from going on: the
/// calling lane waits for a reply when `replying` says so.
pub(crate) fn replying_when(replying: impl Fn() -> bool + 'static) {
    LANE.with_borrow_mut(|lane| {
        if let Some(lane) = lane {
            lane.replying = Box::new(replying);
        }
    });
}

/// As the architectures have it.
pub fn pause(attempt: u32) {
    let Some((warp, lane)) = here() else {
        return host::pause(attempt);
    };
    let replying = LANE.with_borrow(|lane| lane.as_ref().is_some_and(|l| (l.replying)()));
    warp.pause(lane, replying);
}

/// As the architectures have it.
#[must_use]
pub fn warp_size() -> u32 {
    here().map_or_else(host::warp_size, |(warp, _)| warp.size())
}

/// As the architectures have it.
#[must_use]
pub fn independent_lanes() -> bool {
    here().map_or_else(host::independent_lanes, |(warp, _)| warp.is_independent())
}

/// As the architectures have it.
#[must_use]
pub fn lane() -> u32 {
    here().map_or_else(host::lane, |(_, lane)| lane)
}

/// As the architectures have it. Lanes are together that call from the same place.
#[must_use]
#[track_caller]
pub fn active_lanes() -> u64 {
    let place = Location::caller();
    here().map_or_else(host::active_lanes, |(warp, lane)| warp.here(lane, place))
}

/// As the architectures have it.
///
/// # Safety
/// None is asked for: lanes that do not come together fail the test.
#[must_use]
pub unsafe fn first(lanes: u64, value: u32) -> u32 {
    match here() {
        Some((warp, lane)) => warp.together(lane, Together::First, lanes, value),
        // SAFETY: the host asks for nothing.
        None => unsafe { host::first(lanes, value) },
    }
}

/// As the architectures have it.
///
/// # Safety
/// As for [`first`].
#[must_use]
pub unsafe fn any(lanes: u64, vote: bool) -> bool {
    match here() {
        Some((warp, lane)) => warp.together(lane, Together::Any, lanes, vote.into()) != 0,
        // SAFETY: the host asks for nothing.
        None => unsafe { host::any(lanes, vote) },
    }
}

/// As the architectures have it.
///
/// # Safety
/// As for [`first`].
pub unsafe fn converge(lanes: u64) {
    match here() {
        Some((warp, lane)) => {
            warp.together(lane, Together::Converge, lanes, 0);
        }
        // SAFETY: the host asks for nothing.
        None => unsafe { host::converge(lanes) },
    }
}
