//! Calls that do not block: `start` and `post`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::Target;
use conformance_calls::{Act, Note, Outcome, Pair, WriteForms};
use revoff_host::shared_abi::status::Status;
use revoff_host::{CallError, Functions, LaunchError};
use tokio::sync::Barrier;
use tokio::time::sleep;

use crate::executor::{executor, on};
use crate::session::{Session, acting, acting_or, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(many_calls_of_a_thread_run_at_once).only(Target::reports_status),
    test!(started_calls_have_results),
    test!(started_calls_return_what_they_write).only(copies),
    test!(arguments_may_change_meanwhile).only(copies),
    test!(calls_that_block_find_a_slot).only(Target::reports_status),
    test!(started_calls_fail),
    test!(posted_calls_arrive),
    test!(posted_calls_fail),
];

/// Calls of a thread at a time.
const CALLS: u64 = 8;

/// Whether the kernel for forms, whose arguments GCC's wires do not refuse, has the same results.
fn copies(target: &Target) -> bool {
    target.reports_status()
}

fn start(session: &Session, grid: (u32, u32), what: u64, how: u64) -> Vec<Outcome> {
    let outcomes = session.zeroed::<Outcome>((grid.0 * grid.1) as usize);
    session
        .run("start_act", grid, &[&what, &how, &outcomes])
        .unwrap();
    read(&outcomes)
}

/// All calls wait for each other, and are answered out of order.
fn many_calls_of_a_thread_run_at_once(target: &Target) {
    let executor = executor();
    for (grid, how) in [((1, 1), 0), ((1, 1), 2), ((2, 4), 1), ((2, 4), 3)] {
        let batch = (grid.0 * grid.1) as usize * CALLS as usize;
        let barrier = Arc::new(Barrier::new(batch));
        let function = Act::bind_async(move |what| {
            let barrier = Arc::clone(&barrier);
            Box::pin(async move {
                barrier.wait().await;
                sleep(Duration::from_millis(what * 5 % 7)).await;
                what
            })
        });
        let mut functions = Functions::new();
        functions.add_async(function, on(&executor)).unwrap();
        let session = Session::build(target, target.builder().threads(1), &functions);
        for outcome in start(&session, grid, 10, how) {
            assert_eq!(outcome.failed, 0);
            if how != 3 {
                assert_eq!((outcome.ok, outcome.sum), (8, 80 + 28));
            }
        }
        assert_eq!(session.runtime.requests(), batch as u64);
    }
}

fn started_calls_have_results(target: &Target) {
    let session = Session::new(target, &acting(|what| what * 2));
    for how in [0, 1, 2, 3, 0] {
        for outcome in start(&session, (2, 4), 1, how) {
            assert_eq!(outcome.failed, 0);
            let expected = if how == 3 { (0, 0) } else { (8, 72) };
            assert_eq!((outcome.ok, outcome.sum), expected);
        }
    }
    // Slots are free again, also after sequence numbers wrap.
    let builder = target.builder().slots(2).initial_seq(u32::MAX - 20);
    let session = Session::build(target, builder, &acting(|what| what));
    for _ in 0..60 {
        let outcomes = start(&session, (1, 1), 1, 3);
        assert!(outcomes[0].failed <= 7);
    }
    session.works();
}

fn started_calls_return_what_they_write(target: &Target) {
    let mut functions = acting(|what| what);
    let function = WriteForms::bind(|words, pair, fill, one| {
        let sum = words.iter().sum();
        words.iter_mut().for_each(|word| *word *= 2);
        std::mem::swap(&mut pair.left, &mut pair.right);
        pair.left += 1;
        for (i, n) in (1..).zip(fill) {
            *n = i;
        }
        *one = Pair { left: 3, right: 4 };
        Pair {
            left: sum,
            right: !sum,
        }
    });
    functions.add(function).unwrap();
    let session = Session::new(target, &functions);
    let memory = session.filled(&[1u64, 2, 3]);
    let results = session.zeroed::<u64>(2);
    session
        .run("start_forms", (1, 1), &[&memory, &results])
        .unwrap();
    assert_eq!(read::<u64>(&results), [0xff, 0]);
}

/// The one serving thread is inside another function while the kernel overwrites the argument.
fn arguments_may_change_meanwhile(target: &Target) {
    let mut functions = acting(|what| {
        std::thread::sleep(Duration::from_millis(100));
        what
    });
    let noted = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&noted);
    let note = Note::bind(move |_, text| *seen.lock().unwrap() = text.to_vec());
    functions.add(note).unwrap();
    let session = Session::build(target, target.builder().threads(1), &functions);
    let memory = session.filled(&[b'x'; 300]);
    session
        .run("start_and_overwrite", (1, 1), &[&memory])
        .unwrap();
    assert_eq!(*noted.lock().unwrap(), [b'x'; 300]);
    assert_eq!(read::<u8>(&memory), [b'y'; 300]);
}

/// Half of the slots are for calls that block, even if the others are never finished.
fn calls_that_block_find_a_slot(target: &Target) {
    for (slots, started) in [(1, 0), (2, 1), (4, 2), (8, 4), (64, 16)] {
        let builder = target.builder().slots(slots);
        let session = Session::build(target, builder, &acting(|what| what));
        let outcome = session.zeroed::<Outcome>(1);
        session
            .run("start_too_many", (1, 1), &[&3u64, &outcome])
            .unwrap();
        let outcome = read::<Outcome>(&outcome)[0];
        assert_eq!(outcome.sum, 3 * u64::from(outcome.ok));
        // Besides those of the array, one that blocks, and one that is started in the end.
        assert_eq!(outcome.ok, started + 1 + u32::from(started > 0));
        assert_eq!(outcome.failed, 16 - started + u32::from(started == 0));
        if started < 16 {
            assert_eq!(Status(outcome.status), Status::TOO_MANY);
        }
    }
}

fn started_calls_fail(target: &Target) {
    for how in [0, 2, 3] {
        let refuse = |what| match what {
            12 => Err("not that".to_owned()),
            13 => panic!("nor that"),
            _ => Ok(what),
        };
        let session = Session::new(target, &acting_or(refuse));
        let outcomes = session.zeroed::<Outcome>(1);
        let result = session.run("start_act", (1, 1), &[&10u64, &(how as u64), &outcomes]);
        let outcome = read::<Outcome>(&outcomes)[0];
        if how != 3 {
            assert_eq!((outcome.ok, outcome.failed), (6, 2));
        }
        match result.unwrap_err() {
            LaunchError::Call { failed, .. } => assert_eq!(failed, 2),
            other => panic!("{other}"),
        }
    }
    let session = Session::new(target, &Functions::new());
    let outcomes = session.zeroed::<Outcome>(1);
    let result = session.run("start_act", (1, 1), &[&10u64, &0u64, &outcomes]);
    let LaunchError::Call {
        first, failed: 8, ..
    } = result.unwrap_err()
    else {
        panic!("no function is registered")
    };
    assert!(matches!(first, CallError::NoSuchFunction { .. }));
    let outcome = read::<Outcome>(&outcomes)[0];
    assert_eq!((outcome.ok, outcome.failed), (0, 8));
    if target.reports_status() {
        assert_eq!(Status(outcome.status), Status::NO_SUCH_FUNCTION);
    }
}

/// Bytes of a text that fits the slot, and of one for which the thread waits.
const LENGTHS: [u64; 3] = [0, 100, 2000];

fn posted_calls_arrive(target: &Target) {
    for slots in [1, 2, 64] {
        let notes = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&notes);
        let mut functions = Functions::new();
        let function = Note::bind(move |value, text| {
            assert!(text.iter().all(|&byte| byte == b'x'));
            seen.lock().unwrap().push((value, text.len() as u64));
        });
        functions.add(function).unwrap();
        let session = Session::build(target, target.builder().slots(slots), &functions);
        for bytes in LENGTHS {
            let (grid, count) = ((2, 3), 21u64);
            let failed = session.zeroed::<u32>(6);
            session
                .run("post_notes", grid, &[&count, &bytes, &failed])
                .unwrap();
            assert_eq!(read::<u32>(&failed), [0; 6]);
            let mut notes = std::mem::take(&mut *notes.lock().unwrap());
            notes.sort_unstable();
            let expected = (0..6u64).flat_map(|me| (0..count).map(move |n| (me << 32 | n, bytes)));
            assert_eq!(notes, expected.collect::<Vec<_>>());
        }
    }
}

fn posted_calls_fail(target: &Target) {
    for bytes in LENGTHS {
        let mut functions = Functions::new();
        let function = Note::try_bind(|value, _| match value % 3 {
            0 => Err("no"),
            _ => Ok(()),
        });
        functions.add(function).unwrap();
        let session = Session::new(target, &functions);
        let failed = session.zeroed::<u32>(1);
        let result = session.run("post_notes", (1, 1), &[&20u64, &bytes, &failed]);
        let LaunchError::Call { failed: 7, .. } = result.unwrap_err() else {
            panic!("seven calls fail")
        };
        assert_eq!(read::<u32>(&failed), [7]);
    }
}
