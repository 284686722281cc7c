//! The shapes of the parallel patch's own tests: many requests of one kernel, and
//! of several at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use conformance::Target;
use conformance_calls::{Nothing, Tally};
use revoff_host::{DeviceBuffer, Functions, Launch};

use crate::session::{Session, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(one_request),
    test!(no_arguments),
    test!(many_requests),
    test!(five_kernels),
    test!(kernels_in_turn),
];

type Seen = Arc<Mutex<Vec<(i32, i32, i32)>>>;

fn tallying() -> (Functions, Seen) {
    let seen = Seen::default();
    let mut functions = Functions::new();
    let all = Arc::clone(&seen);
    functions
        .add(Tally::bind(move |tag, team, thread, sum| {
            all.lock().unwrap().push((tag, team, thread));
            *sum = tag * 1_000_000 + team * 1000 + thread;
        }))
        .unwrap();
    (functions, seen)
}

fn start(session: &Session, tag: i32, grid: (u32, u32)) -> (Launch, DeviceBuffer) {
    let sums = session.zeroed::<i32>((grid.0 * grid.1) as usize);
    (session.start("call_tally", grid, &[&tag, &sums]), sums)
}

fn check_sums(sums: &DeviceBuffer, tag: i32, threads: i32) {
    for (i, sum) in (0..).zip(read::<i32>(sums)) {
        let (team, thread) = (i / threads, i % threads);
        let expected = tag * 1_000_000 + team * 1000 + thread;
        assert_eq!(
            sum, expected,
            "team {team}, thread {thread} of kernel {tag}"
        );
    }
}

fn run(session: &Session, seen: &Seen, tags: std::ops::Range<i32>, (teams, threads): (i32, i32)) {
    let grid = (teams as u32, threads as u32);
    let launches: Vec<_> = tags.clone().map(|tag| start(session, tag, grid)).collect();
    for (tag, (launch, sums)) in tags.clone().zip(&launches) {
        launch.wait().unwrap();
        check_sums(sums, tag, threads);
    }
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let count = (tags.end - tags.start) * teams * threads;
    assert_eq!(seen.len(), count as usize, "each request is served once");
    let different: BTreeSet<_> = seen.into_iter().collect();
    let all = tags.flat_map(|tag| {
        (0..teams).flat_map(move |team| (0..threads).map(move |thread| (tag, team, thread)))
    });
    assert_eq!(different, all.collect());
}

fn one_request(target: &Target) {
    let (functions, seen) = tallying();
    let session = Session::new(target, &functions);
    run(&session, &seen, 1..2, (1, 1));
    assert_eq!(session.runtime.requests(), 1);
}

fn no_arguments(target: &Target) {
    let mut functions = Functions::new();
    functions.add(Nothing::bind(|| ())).unwrap();
    let session = Session::new(target, &functions);
    let done = session.zeroed::<u32>(64);
    session.run("call_nothing", (4, 16), &[&done]).unwrap();
    assert_eq!(read::<u32>(&done), [1; 64]);
}

fn many_requests(target: &Target) {
    let (functions, seen) = tallying();
    let session = Session::new(target, &functions);
    // Of more threads that wait for one slot, most of the time would be the system's.
    let teams = if target.is_parallel() { 100 } else { 10 };
    run(&session, &seen, 7..8, (teams, 16));
    assert_eq!(session.runtime.requests(), 16 * teams as u64);
}

fn five_kernels(target: &Target) {
    let (functions, seen) = tallying();
    let session = Session::new(target, &functions);
    run(&session, &seen, 0..5, (32, 16));
    assert_eq!(session.runtime.requests(), 5 * 512);
}

/// Launch after launch: each one finds the state that the last one left.
fn kernels_in_turn(target: &Target) {
    let (functions, seen) = tallying();
    let session = Session::new(target, &functions);
    for tag in 0..100 {
        run(&session, &seen, tag..tag + 1, (2, 3));
    }
}
