//! Tests in simulated warps of both kinds.

extern crate std;

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;

use super::{once_per_warp, serialize_lanes};
use crate::arch::simulated::{Scheduling, replying_when, run};
use crate::arch::{pause, warp_size};

const BOTH: [Scheduling; 2] = [Scheduling::LockStep, Scheduling::Independent];

#[test]
fn a_lane_that_waits_with_a_lock_holds_nobody_up() {
    for scheduling in BOTH {
        let locked = AtomicBool::new(false);
        let done = AtomicU32::new(0);
        run(scheduling, 32, 1, |lane| {
            let holds = Arc::new(AtomicBool::new(false));
            let replying = Arc::clone(&holds);
            replying_when(move || replying.load(Ordering::Relaxed));
            let result = serialize_lanes(|| {
                while locked.swap(true, Ordering::Acquire) {
                    pause(0);
                }
                holds.store(true, Ordering::Relaxed);
                for attempt in 0..3 {
                    pause(attempt);
                }
                holds.store(false, Ordering::Relaxed);
                locked.store(false, Ordering::Release);
                done.fetch_add(1, Ordering::Relaxed);
                lane
            });
            assert_eq!(result, lane);
        });
        assert_eq!(done.into_inner(), 32);
    }
}

#[test]
fn a_warp_acts_once_after_what_its_lanes_did_before() {
    for scheduling in BOTH {
        let (before, acted) = (AtomicU32::new(0), AtomicU32::new(0));
        run(scheduling, 64, 2, |_| {
            before.fetch_add(1, Ordering::Relaxed);
            let action = || {
                assert_eq!(before.load(Ordering::Relaxed), warp_size());
                acted.fetch_add(1, Ordering::Relaxed);
            };
            // SAFETY: all lanes of the warp come here.
            unsafe { once_per_warp(action) };
            assert_eq!(acted.load(Ordering::Relaxed), 1);
        });
    }
}
