//! Every form of a typed argument.

use std::sync::{Arc, Mutex};

use conformance::Target;
use conformance_calls::{Pair, ReadForms, WriteForms};
use revoff_host::{Functions, KernelArg};

use crate::probe::Probe;
use crate::raw::{Form, Where, perform_as, words};
use crate::session::{Session, acting, read};
use crate::{Test, test};
use revoff_host::shared_abi::map_kind::MapKind;
use revoff_host::shared_abi::status::Status;

pub(crate) const TESTS: &[Test] = &[
    test!(all_forms),
    test!(large_slices),
    test!(slices_change_in_each_call),
    test!(a_call_that_does_not_fit_its_declaration),
    test!(a_function_that_sends_no_result),
    test!(a_function_that_sends_garbage),
];

type Reads = Arc<Mutex<Vec<(Vec<u32>, Pair, u8, f64)>>>;

fn functions(reads: &Reads) -> Functions {
    let mut functions = Functions::new();
    let reads = Arc::clone(reads);
    functions
        .add(ReadForms::bind(move |words, pair, big, small, float| {
            let mut reads = reads.lock().unwrap();
            reads.push((words.to_vec(), *pair, small, float));
            big.iter().map(|&byte| u64::from(byte)).sum::<u64>() + u64::from(small)
        }))
        .unwrap();
    functions
        .add(WriteForms::bind(|words, pair, fill, one| {
            assert!(
                fill.iter().all(|&n| n == 0) && *one == Pair::default(),
                "what comes back alone is zero"
            );
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
        }))
        .unwrap();
    functions
}

fn run(session: &Session, count: u64) -> Vec<u64> {
    let memory: Vec<u64> = (1..=count).collect();
    let memory = session.filled(&memory);
    let results = session.zeroed::<u64>(10);
    session
        .run("call_forms", (1, 1), &[&memory, &count, &results])
        .unwrap();
    let doubled: Vec<u64> = (1..=count).map(|n| 2 * n).collect();
    assert_eq!(read::<u64>(&memory), doubled);
    read(&results)
}

fn all_forms(target: &Target) {
    let reads = Reads::default();
    let session = Session::new(target, &functions(&reads));
    let results = run(&session, 5);
    let sum = 1 + 2 + 3;
    assert_eq!(results[..2], [7 * 24 + 9, 0]);
    assert_eq!(
        results[2..4],
        [sum, !sum],
        "more than eight bytes come back"
    );
    assert_eq!(results[4], 2 * sum);
    assert_eq!(results[5], 31);
    assert_eq!(results[6], 28, "1 + 2 + .. + 7");
    assert_eq!(results[7], 7);
    assert_eq!(results[8..], [15, 30]);
    let pair = Pair {
        left: 10,
        right: 20,
    };
    let expected = [(vec![1, 2, 3, 4, 5], pair, 9, 0.5), (vec![], pair, 0, -1.0)];
    assert_eq!(*reads.lock().unwrap(), expected);
}

fn large_slices(target: &Target) {
    let session = Session::new(target, &functions(&Reads::default()));
    for count in [15, 16, 17, 60, 61, 8192, 40_000] {
        let results = run(&session, count);
        assert_eq!(results[8], count * (count + 1) / 2);
    }
}

/// The same memory carries the words of all calls: old content would be noticed.
fn slices_change_in_each_call(target: &Target) {
    const COUNT: u64 = 100;
    const ROUNDS: u32 = 20;
    let session = Session::new(target, &functions(&Reads::default()));
    let (teams, threads) = target.apart((2, 2));
    let all = u64::from(teams * threads) * COUNT;
    let memory = session.filled(&(1..=all).collect::<Vec<u64>>());
    let sums = session.zeroed::<u64>((teams * threads) as usize);
    let args: [&dyn KernelArg; 4] = [&memory, &COUNT, &ROUNDS, &sums];
    session
        .run("call_repeatedly", (teams, threads), &args)
        .unwrap();
    let doubled: Vec<u64> = (1..=all).map(|n| n << ROUNDS).collect();
    assert_eq!(read::<u64>(&memory), doubled);
    let expected = doubled.chunks(COUNT as usize).map(|words| {
        // 2 + 4 + .. + 2^rounds times what it was.
        let found = words.iter().map(|word| 2 * (word - (word >> ROUNDS)));
        found.sum::<u64>()
    });
    assert_eq!(read::<u64>(&sums), expected.collect::<Vec<_>>());
}

/// The right function, called by code with another declaration.
fn a_call_that_does_not_fit_its_declaration(target: &Target) {
    let session = Session::new(target, &acting(|_| panic!("it must not run")));
    let call = conformance_calls::RawCall {
        func: words(&session).act,
        device: -2,
        flags: revoff_host::shared_abi::gomp::REVOFF_FLAG_STATUS,
        ..Default::default()
    };
    let data = session.zeroed::<u64>(8);
    let reply = Form::at(8, 16, MapKind::FROM.with_align(8));
    let cases = [
        (vec![Form::value(1)], "1 arguments, declared are 2"),
        (
            vec![Form::at(0, 8, MapKind::TO), reply],
            "argument 0 is mapped as TO",
        ),
        (
            vec![
                Form {
                    size: 4,
                    ..Form::value(1)
                },
                reply,
            ],
            "argument 0 has 4 bytes",
        ),
        (
            vec![Form::value(1), Form { size: 8, ..reply }],
            "argument 1 has 8 bytes",
        ),
        (
            vec![
                Form::value(1),
                Form {
                    kind: MapKind::TO,
                    ..reply
                },
            ],
            "argument 1 is mapped as TO",
        ),
        (
            vec![Form::value(1), Form::null(16, MapKind::FROM)],
            "argument 1",
        ),
    ];
    for place in [Where::Memory, Where::Stack] {
        for (forms, text) in &cases {
            let done = perform_as(&session, place, &data, forms, call);
            assert!(done.error().contains(text), "{}", done.error());
            let expected = if target.reports_status() {
                Status::REFUSED_MAPPING
            } else {
                Status::NONE
            };
            assert_eq!(done.status, expected);
            assert_eq!(done.data, [0; 64]);
        }
    }
}

/// A function that fits no declaration and writes nothing: the caller gets an error.
fn a_function_that_sends_no_result(target: &Target) {
    let mut functions = Functions::new();
    functions.add(Probe::new("act", |_| Ok(()))).unwrap();
    let session = Session::new(target, &functions);
    let (outcomes, result) = session.act((2, 2), 5, 0, 3);
    result.unwrap();
    let expected = if target.reports_status() {
        Status::DONE
    } else {
        Status::NONE
    };
    for outcome in outcomes {
        assert_eq!(
            (outcome.ok, outcome.failed, outcome.status),
            (0, 3, expected.0)
        );
    }
}

fn a_function_that_sends_garbage(target: &Target) {
    let mut functions = Functions::new();
    let garbage = Probe::new("act", |args| {
        args[1].bytes.fill(0xa5);
        Ok(())
    });
    functions.add(garbage).unwrap();
    let session = Session::new(target, &functions);
    let (outcomes, result) = session.act((2, 2), 5, 0, 3);
    result.unwrap();
    for outcome in outcomes {
        assert_eq!((outcome.ok, outcome.failed), (0, 3));
    }
}
