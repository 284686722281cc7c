//! Host functions that fail, panic, or do not exist.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use conformance::Target;
use conformance_calls::{Act, Outcome};
use revoff_host::shared_abi::status::Status;
use revoff_host::{CallError, Functions, LaunchError, RuntimeError, image::ImageError};

use crate::image::image;
use crate::probe::Probe;
use crate::raw::{Form, Where, perform};
use crate::session::{Session, acting, acting_or};
use crate::{Test, test};
use revoff_host::shared_abi::map_kind::MapKind;

pub(crate) const TESTS: &[Test] = &[
    test!(some_calls_fail),
    test!(functions_panic),
    test!(every_serving_thread_has_panicked),
    test!(nothing_comes_back_from_a_failure),
    test!(nobody_registered_it),
    test!(no_function_word),
    test!(other_signature),
    test!(registered_twice),
];

pub(crate) fn status(target: &Target, expected: Status) -> u32 {
    // GCC's wires carry no status.
    if target.reports_status() {
        expected.0
    } else {
        Status::NONE.0
    }
}

/// Every other thread's calls fail.
fn check(target: &Target, session: &Session, expected: &str) {
    let (outcomes, result) = session.act((4, 8), 0, 1, 3);
    for (i, outcome) in outcomes.iter().enumerate() {
        let what = i as u64;
        if i % 2 == 0 {
            assert_eq!((outcome.sum, outcome.ok, outcome.failed), (3 * what, 3, 0));
        } else {
            let failed = Outcome {
                failed: 3,
                status: status(target, Status::FUNCTION_FAILED),
                ..Outcome::default()
            };
            assert_eq!(*outcome, failed, "thread {i}");
        }
    }
    match result {
        Err(LaunchError::Call {
            kernel,
            first,
            failed,
        }) => {
            assert_eq!((kernel.as_str(), failed), ("call_act", 48));
            let text = first.to_string();
            assert!(
                text.starts_with("host function `act` ") && text.contains(expected),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
}

fn some_calls_fail(target: &Target) {
    let session = Session::new(
        target,
        &acting_or(|what| {
            if what % 2 == 0 {
                Ok(what)
            } else {
                Err("it is odd".to_owned())
            }
        }),
    );
    check(target, &session, "failed: it is odd");
    let (_, result) = session.act((2, 2), 4, 0, 3);
    result.expect("an earlier launch's failures are not this one's");
}

fn functions_panic(target: &Target) {
    let session = Session::new(
        target,
        &acting(|what| {
            assert!(what % 2 == 0, "{what} is odd, and panics");
            what
        }),
    );
    check(target, &session, "is odd, and panics");
    let (_, result) = session.act((2, 2), 4, 0, 3);
    result.unwrap();
}

fn every_serving_thread_has_panicked(target: &Target) {
    let builder = target.builder().threads(2);
    let session = Session::build(
        target,
        builder,
        &acting(|what| {
            if what == 1 {
                1
            } else {
                std::panic::panic_any(what)
            }
        }),
    );
    for _ in 0..3 {
        let (_, result) = session.act((2, 2), 2, 0, 10);
        let error = result.unwrap_err().to_string();
        assert!(
            error.contains("panicked: (no message) (and 39 more failed calls)"),
            "{error}"
        );
    }
    session.works();
}

/// The function's writes to `present` data stay.
fn nothing_comes_back_from_a_failure(target: &Target) {
    let mut functions = Functions::new();
    functions
        .add(Probe::new("probe", |args| {
            args[0].bytes.fill(9);
            Err("too late".to_owned())
        }))
        .unwrap();
    let session = Session::new(target, &functions);
    for place in [Where::Memory, Where::Stack] {
        for size in [16, 1000, 50_000] {
            let before = vec![5; size];
            let forms = [
                Form::at(0, size, MapKind::TOFROM),
                Form::at(0, 8, MapKind::TO),
            ];
            let done = perform(&session, place, &before, &forms);
            assert!(done.error().contains("too late"));
            assert!(done.data == before, "{place:?}, {size} bytes");
        }
    }
}

fn nobody_registered_it(target: &Target) {
    let session = Session::new(target, &Functions::new());
    let (outcomes, result) = session.act((2, 2), 0, 1, 3);
    for outcome in outcomes {
        let expected = status(target, Status::NO_SUCH_FUNCTION);
        assert_eq!(
            (outcome.ok, outcome.failed, outcome.status),
            (0, 3, expected)
        );
    }
    match result {
        Err(LaunchError::Call {
            first, failed: 12, ..
        }) => {
            assert!(
                matches!(&first, CallError::NoSuchFunction { name: Some(name), .. } if name == "act")
            );
            assert!(first.to_string().contains("`act`"), "{first}");
        }
        other => panic!("{other:?}"),
    }
}

/// A word that no image uses.
fn no_function_word(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let unregistered = crate::raw::words(&session).unregistered;
    let memory = session.zeroed::<u64>(1).address().0;
    let mut none = vec![0x1234, 1, memory, unregistered + 1, u64::MAX - 1];
    // On `gcc-slot` this word is the host's own mark of a request that it has taken.
    if target.is_parallel() {
        none.push(u64::MAX);
    }
    for func in none {
        let call = conformance_calls::RawCall {
            func,
            device: -2,
            flags: revoff_host::shared_abi::gomp::REVOFF_FLAG_STATUS,
            ..Default::default()
        };
        let data = session.zeroed::<u64>(1);
        let done = crate::raw::perform_as(&session, Where::Memory, &data, &[], call);
        assert!(
            done.error().contains(&format!("function {func:#x} ")),
            "{}",
            done.error()
        );
        assert_eq!(done.status.0, status(target, Status::NO_SUCH_FUNCTION));
    }
    session.works();
}

/// Another declaration of the same name, detected before anything runs.
fn other_signature(target: &Target) {
    let runtime = target.builder().build().unwrap();
    let load = |signature| {
        let mut functions = Functions::new();
        functions
            .add(Probe::new("act", |_| Ok(())).declared(signature))
            .unwrap();
        runtime.load(&image(target), &functions)
    };
    match load(!Act::SIGNATURE) {
        Err(RuntimeError::Image(error @ ImageError::OtherSignature { .. })) => {
            let text = error.to_string();
            assert!(text.contains("`act`"), "{text}");
            assert!(
                text.contains(&format!("{:#018x}", Act::SIGNATURE)),
                "{text}"
            );
        }
        other => panic!("{:?}", other.map(|_| "loaded")),
    }
    load(Act::SIGNATURE).expect("the declaration that the image has");
    load(0).expect("no declaration");
}

fn registered_twice(target: &Target) {
    let count = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&count);
    let mut functions = acting(move |what| {
        counter.fetch_add(1, Ordering::Relaxed);
        what
    });
    let error = functions.add(Act::bind(|_| 0)).unwrap_err();
    assert!(
        error.to_string().contains("`act` is registered twice"),
        "{error}"
    );
    Session::new(target, &functions).works();
    assert_eq!(count.load(Ordering::Relaxed), 12, "the first one stays");
}
