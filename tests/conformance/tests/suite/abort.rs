//! Aborted launches: calls whose functions do not return let go of their kernel.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use conformance::Target;
use conformance_calls::Outcome;
use revoff_host::shared_abi::status::Status;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::{CallError, Functions, Launch, LaunchError};

use crate::gate::Gate;
use crate::session::{Acting, Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(a_late_kernel_ends_without_its_functions).only(is_native),
    test!(calls_that_no_thread_can_take_are_aborted).only(is_native),
    test!(a_function_that_returns_late_changes_nothing).only(is_native),
    test!(the_kernel_ends_after_its_failure_is_known).only(is_native),
    test!(other_launches_are_served).only(is_native),
    test!(a_runtime_is_dropped_beside_a_function_that_never_returns)
        .only(is_native)
        .alone(),
    test!(calls_of_other_wires_are_aborted).only(|target| !is_native(target)),
];

fn is_native(target: &Target) -> bool {
    target.wire == WireKind::NATIVE
}

/// `act(0)` waits for the gate, and reports when it has entered and when it returns.
struct Blocking {
    gate: Arc<Gate>,
    entered: Receiver<()>,
    returned: Receiver<()>,
}

fn blocking() -> (Functions, Blocking) {
    let gate = Arc::new(Gate::default());
    let (entering, entered) = channel();
    let (returning, returned) = channel();
    let passed = Arc::clone(&gate);
    let functions = acting(move |what| {
        if what == 0 {
            entering.send(()).expect("the test waits");
            passed.pass();
            // The test may be over.
            let _ = returning.send(());
        }
        what
    });
    let blocking = Blocking {
        gate,
        entered,
        returned,
    };
    (functions, blocking)
}

/// Aborts a launch until its kernel has ended, which may take longer than one attempt on a busy machine.
pub(crate) fn until_ended(launch: &Launch) {
    while !launch.abort() {}
}

/// Checks that each of `calls` threads made one call, which was aborted.
fn assert_aborted(acting: &Acting, calls: u64) {
    let outcomes: Vec<Outcome> = read(&acting.outcomes);
    for outcome in outcomes {
        assert_eq!((outcome.sum, outcome.ok, outcome.failed), (0, 0, 1));
        assert_eq!(Status(outcome.status), Status::ABORTED);
    }
    let error = acting.launch.wait().expect_err("its calls were aborted");
    let LaunchError::Call { first, failed, .. } = error else {
        panic!("{error}");
    };
    assert!(
        matches!(&first, CallError::Aborted { function } if function == "act"),
        "{first}"
    );
    assert_eq!(failed, calls);
}

fn a_late_kernel_ends_without_its_functions(target: &Target) {
    let (functions, blocking) = blocking();
    let builder = target.builder().slots(1);
    let builder = builder.deadline(Duration::from_millis(500));
    let session = Session::build(target, builder, &functions);
    let acting = session.start_act((1, 1), 0, 0, 1);
    blocking.entered.recv().expect("the kernel calls");
    let error = acting.launch.wait().expect_err("the function waits");
    let text = error.to_string();
    let LaunchError::Deadline {
        pending, has_ended, ..
    } = error
    else {
        panic!("{text}");
    };
    assert_eq!(pending, ["`act`"]);
    assert_eq!(has_ended, text.contains("its calls were aborted"), "{text}");
    until_ended(&acting.launch);
    assert_aborted(&acting, 1);
    // The only slot is free, though the function still runs.
    session.works();
    blocking.gate.open();
}

fn calls_that_no_thread_can_take_are_aborted(target: &Target) {
    let (functions, blocking) = blocking();
    let builder = target.builder().slots(2).threads(1);
    let session = Session::build(target, builder, &functions);
    // More warps than slots, more lanes than host threads.
    let acting = session.start_act((4, 40), 0, 0, 1);
    blocking.entered.recv().expect("the kernel calls");
    until_ended(&acting.launch);
    assert_aborted(&acting, 160);
    blocking.gate.open();
    session.works();
}

fn a_function_that_returns_late_changes_nothing(target: &Target) {
    let (functions, blocking) = blocking();
    let session = Session::build(target, target.builder().slots(1), &functions);
    for _ in 0..20 {
        let late = session.start_act((1, 1), 0, 0, 1);
        blocking.entered.recv().expect("the kernel calls");
        until_ended(&late.launch);
        // The function returns while others use its slot.
        let busy = session.start_act((1, 2), 1, 0, 200);
        blocking.gate.open();
        blocking.returned.recv().expect("the function returns");
        busy.launch.wait().expect("it has nothing to do with it");
        for outcome in read::<Outcome>(&busy.outcomes) {
            assert_eq!((outcome.sum, outcome.ok, outcome.failed), (200, 200, 0));
        }
        assert_aborted(&late, 1);
        blocking.gate.close();
    }
}

/// The kernel may end as soon as its call completes, on another thread.
fn the_kernel_ends_after_its_failure_is_known(target: &Target) {
    let rounds = if target.is_emu() { 20 } else { 500 };
    let (functions, blocking) = blocking();
    let session = Session::new(target, &functions);
    for _ in 0..rounds {
        let acting = session.start_act((1, 1), 0, 0, 1);
        blocking.entered.recv().expect("the kernel calls");
        until_ended(&acting.launch);
        assert_aborted(&acting, 1);
        blocking.gate.open();
        blocking.returned.recv().expect("the function returns");
        blocking.gate.close();
    }
}

fn other_launches_are_served(target: &Target) {
    let (functions, blocking) = blocking();
    let (other_functions, other_blocking) = self::blocking();
    let session = Session::new(target, &functions);
    let elsewhere = Session::new(target, &other_functions);
    let [other, aborted] = [(); 2].map(|()| {
        let acting = session.start_act((1, 1), 0, 0, 1);
        blocking.entered.recv().expect("the kernel calls");
        acting
    });
    let on_other_runtime = elsewhere.start_act((1, 1), 0, 0, 1);
    other_blocking.entered.recv().expect("the kernel calls");
    // On a GPU a call may be any launch's.
    if target.is_host() {
        until_ended(&aborted.launch);
    } else {
        assert!(!aborted.launch.abort());
    }
    assert!(!other.launch.is_done());
    blocking.gate.open();
    other.launch.wait().expect("only the other was aborted");
    let outcome = read::<Outcome>(&other.outcomes)[0];
    assert_eq!((outcome.ok, outcome.failed), (1, 0));
    if target.is_host() {
        assert_aborted(&aborted, 1);
    } else {
        aborted.launch.wait().expect("its function has returned");
    }
    other_blocking.gate.open();
    let result = on_other_runtime.launch.wait();
    result.expect("another runtime has nothing to do with it");
}

fn a_runtime_is_dropped_beside_a_function_that_never_returns(target: &Target) {
    let functions = acting(|_| {
        loop {
            std::thread::park();
        }
    });
    let builder = target.builder().threads(1);
    let builder = builder.deadline(Duration::from_millis(300));
    let session = Session::build(target, builder, &functions);
    let acting = session.start_act((1, 1), 0, 0, 1);
    let result = acting.launch.wait();
    result.expect_err("the function never returns");
    until_ended(&acting.launch);
    drop(acting);
    // The only thread is in that function.
    let unserved = session.start_act((1, 1), 0, 0, 1);
    let error = unserved.launch.wait().expect_err("no thread is left");
    let text = error.to_string();
    for part in [
        "`act` of an aborted launch",
        "no thread is left for, of 1 host thread",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let handle = unserved.launch.abort_handle();
    let other = std::thread::spawn(move || while !handle.abort() {});
    until_ended(&unserved.launch);
    other.join().expect("it only aborts");
    drop(unserved);
    let (dropping, dropped) = channel();
    std::thread::spawn(move || {
        drop(session);
        dropping.send(()).expect("the test waits");
    });
    let result = dropped.recv_timeout(Duration::from_secs(20));
    result.expect("the drop waits for no function");
}

/// GCC's wires have no status by which a caller could learn that its call was aborted: it goes on
/// without results.
fn calls_of_other_wires_are_aborted(target: &Target) {
    let (functions, blocking) = blocking();
    let session = Session::new(target, &functions);
    for _ in 0..3 {
        let acting = session.start_act((1, 1), 0, 0, 1);
        blocking.entered.recv().expect("the kernel calls");
        until_ended(&acting.launch);
        let error = acting.launch.wait().expect_err("its call was aborted");
        let LaunchError::Call { first, failed, .. } = error else {
            panic!("{error}");
        };
        assert!(matches!(first, CallError::Aborted { .. }), "{first}");
        assert_eq!(failed, 1);
        // Beside the function.
        session.works();
        blocking.gate.open();
        blocking.returned.recv().expect("the function returns");
        blocking.gate.close();
    }
    session.works();
}
