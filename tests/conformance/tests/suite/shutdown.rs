//! A runtime that refuses further calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use conformance::Target;
use conformance_calls::Outcome;
use revoff_host::shared_abi::status::Status;
use revoff_host::{CallError, LaunchError};

use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(calls_are_refused),
    test!(while_kernels_call),
    test!(a_launch_that_nobody_waits_for),
    test!(dropped_while_a_kernel_runs),
];

fn calls_are_refused(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    session.works();
    session.runtime.shut_down();
    let (outcomes, result) = session.act((2, 2), 1, 0, 3);
    let status = if target.reports_status() {
        Status::SHUTTING_DOWN
    } else {
        Status::NONE
    };
    for outcome in outcomes {
        assert_eq!(
            (outcome.ok, outcome.failed, outcome.status),
            (0, 3, status.0)
        );
    }
    match result {
        Err(LaunchError::Call {
            first: CallError::ShuttingDown { .. },
            failed: 12,
            ..
        }) => {}
        other => panic!("{other:?}"),
    }
}

fn while_kernels_call(target: &Target) {
    let calls = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&calls);
    let session = Session::new(
        target,
        &acting(move |what| {
            count.fetch_add(1, Ordering::Relaxed);
            what
        }),
    );
    let rounds = 2_000;
    let acting = session.start_act((4, 4), 1, 0, rounds);
    while calls.load(Ordering::Relaxed) < 100 {
        std::thread::yield_now();
    }
    session.runtime.shut_down();
    let result = acting.launch.wait();
    let outcomes = read::<Outcome>(&acting.outcomes);
    let served: u32 = outcomes.iter().map(|outcome| outcome.ok).sum();
    let failed: u32 = outcomes.iter().map(|outcome| outcome.failed).sum();
    assert_eq!(
        served + failed,
        16 * rounds,
        "every call has come to an end"
    );
    assert_eq!(
        served,
        calls.load(Ordering::Relaxed),
        "what ran has its result"
    );
    match result {
        Err(LaunchError::Call {
            first: CallError::ShuttingDown { .. },
            failed: told,
            ..
        }) => {
            assert_eq!(told, u64::from(failed));
        }
        Ok(_) => assert_eq!(failed, 0, "it was over before"),
        other => panic!("{other:?}"),
    }
}

/// Dropping a launch waits for its kernel, whose calls are served meanwhile.
fn a_launch_that_nobody_waits_for(target: &Target) {
    let calls = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&calls);
    let session = Session::new(
        target,
        &acting(move |what| {
            count.fetch_add(1, Ordering::Relaxed);
            what
        }),
    );
    drop(session.start_act((4, 4), 1, 0, 20));
    assert_eq!(calls.load(Ordering::Relaxed), 320);
}

/// A launch keeps the runtime alive after all other owners have dropped it.
fn dropped_while_a_kernel_runs(target: &Target) {
    let open = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&open);
    let session = Session::new(
        target,
        &acting(move |what| {
            while !gate.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            what
        }),
    );
    let acting = session.start_act((2, 2), 1, 0, 5);
    drop(session);
    open.store(true, Ordering::Relaxed);
    acting.launch.wait().unwrap();
    for outcome in read::<Outcome>(&acting.outcomes) {
        assert_eq!((outcome.sum, outcome.failed), (5, 0));
    }
}
