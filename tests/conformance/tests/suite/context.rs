//! Each request is served in the context of the launch that it comes from.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use conformance::Target;
use revoff_host::{Functions, LaunchError, current_call};

use crate::image::image;
use crate::session::{Session, acting, acting_or, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(calls_know_their_launch),
    test!(calls_know_their_launch_of_two_images),
    test!(failures_stay_with_their_launch).only(Target::tells_launches_apart),
    test!(failures_reach_their_launch),
    test!(there_is_no_context_outside_a_call),
];

/// `what`, and the launch that a call came from.
type Seen = Arc<Mutex<BTreeSet<(u64, u32)>>>;

fn noting(seen: &Seen) -> Functions {
    let seen = Arc::clone(seen);
    acting(move |what| {
        let launch = current_call().expect("a call").launch;
        seen.lock().unwrap().insert((what, launch));
        u64::from(launch)
    })
}

fn check(target: &Target, sessions: &[&Session], seen: &Seen) {
    let (grid, rounds) = ((8, 4), 5);
    let launches: Vec<_> = (0..6)
        .map(|i| sessions[i % sessions.len()].start_act(grid, i as u64, 0, rounds))
        .collect();
    let (mut ids, mut expected) = (BTreeSet::new(), BTreeSet::new());
    for (what, acting) in launches.iter().enumerate() {
        acting.launch.wait().unwrap();
        let id = acting.launch.id();
        assert!(ids.insert(id), "launches have ids of their own");
        // Calls have no launch if requests do not identify it.
        let id = if target.tells_launches_apart() { id } else { 0 };
        for outcome in read::<conformance_calls::Outcome>(&acting.outcomes) {
            assert_eq!(outcome.ok, rounds);
            assert_eq!(outcome.sum, u64::from(id) * u64::from(rounds));
        }
        expected.insert((what as u64, id));
    }
    assert_eq!(*seen.lock().unwrap(), expected);
}

fn calls_know_their_launch(target: &Target) {
    let seen = Seen::default();
    let session = Session::new(target, &noting(&seen));
    check(target, &[&session], &seen);
}

fn calls_know_their_launch_of_two_images(target: &Target) {
    let seen = Seen::default();
    let functions = noting(&seen);
    let one = Session::new(target, &functions);
    let other = Session::on(&one.runtime, &image(target), &functions);
    check(target, &[&one, &other], &seen);
}

fn failures_stay_with_their_launch(target: &Target) {
    let functions = acting_or(|what| match what {
        0 => Ok(1),
        _ => Err(format!("no {what}")),
    });
    let session = Session::new(target, &functions);
    let launches: Vec<_> = (0..6u64)
        .map(|i| session.start_act((4, 4), i % 3, 0, 5))
        .collect();
    for (i, acting) in launches.iter().enumerate() {
        match (i % 3, acting.launch.wait()) {
            (0, Ok(_)) => {}
            (what @ 1.., Err(LaunchError::Call { first, failed, .. })) => {
                assert_eq!(failed, 80, "as many as it made");
                assert_eq!(
                    first.to_string(),
                    format!("host function `act` failed: no {what}")
                );
            }
            (what, result) => panic!("launch {i}, act({what}): {result:?}"),
        }
    }
}

/// On every device; launches that run at the same time may be blamed too.
fn failures_reach_their_launch(target: &Target) {
    let functions = acting_or(|what| match what {
        0 | 1 => Ok(what),
        _ => Err(format!("no {what}")),
    });
    let session = Session::new(target, &functions);
    let launches: Vec<_> = (0..6u64)
        .map(|i| session.start_act((4, 4), if i % 2 == 0 { 0 } else { i + 1 }, 0, 5))
        .collect();
    for (i, acting) in launches.iter().enumerate() {
        match acting.launch.wait() {
            Err(LaunchError::Call { first, .. }) => {
                assert!(first.to_string().contains("`act` failed: no "), "{first}");
            }
            Ok(_) => assert_eq!(i % 2, 0, "this one failed"),
            Err(error) => panic!("{error}"),
        }
        for outcome in read::<conformance_calls::Outcome>(&acting.outcomes) {
            let expected = if i % 2 == 0 { (5, 0) } else { (0, 5) };
            if target.reports_status() {
                assert_eq!((outcome.ok, outcome.failed), expected);
            }
        }
    }
    session.works();
}

fn there_is_no_context_outside_a_call(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    assert_eq!(current_call(), None);
    session.works();
    assert_eq!(current_call(), None);
}
