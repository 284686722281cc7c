//! A kernel that panics ends only its own launch.

use conformance::Target;
use conformance_calls::Outcome;
use revoff_host::LaunchError;

use crate::session::{Session, acting, acting_or, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(a_kernel_panics).only(Target::survives_faults),
    test!(many_kernels_panic).only(Target::survives_faults),
    test!(a_panic_beside_a_failed_call).only(Target::survives_faults),
    test!(others_go_on_beside_a_panic).only(Target::survives_faults),
    test!(a_thread_dies_with_a_slot).only(Target::survives_faults),
];

fn trap(session: &Session, grid: (u32, u32), victim: u32) -> (Vec<Outcome>, LaunchError) {
    let outcomes = session.zeroed::<Outcome>((grid.0 * grid.1) as usize);
    let args: [&dyn revoff_host::KernelArg; 3] = [&1u64, &victim, &outcomes];
    let error = session.run("call_and_trap", grid, &args).unwrap_err();
    (read(&outcomes), error)
}

/// The number after `before` in `text`.
fn line_in(text: &str, before: &str) -> Option<usize> {
    let (_, behind) = text.split_once(before)?;
    let (line, _) = behind.split_once(':')?;
    line.parse().ok()
}

/// The line of the kernels' `act.rs` with the assertion whose message has `words`.
fn line_of_panic(words: &str) -> usize {
    let source = include_str!("../../kernels/src/act.rs");
    let panics = |line: &str| line.contains("assert!") && line.contains(words);
    1 + source.lines().position(panics).expect("a panic")
}

fn a_kernel_panics(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let (outcomes, error) = trap(&session, (1, 8), 5);
    match &error {
        LaunchError::Fault { kernel, fault, .. } => {
            assert_eq!(kernel, "call_and_trap");
            let message = fault.to_string();
            let words = target.words_of_panic("thread 5 gives up", "src/act.rs");
            assert!(message.contains(&words), "{message}");
            assert!(message.contains("panicked at "), "{message}");
            let line = line_in(&message, "src/act.rs:");
            assert_eq!(line, Some(line_of_panic("gives up")), "{message}");
        }
        other => panic!("{other}"),
    }
    // Threads that start after the fault do nothing.
    for (i, outcome) in outcomes.iter().enumerate() {
        assert!(outcome.ok <= u32::from(i != 5), "thread {i}");
    }
    session.works();
}

/// Resources of a launch are free again: slots, extents, the lock of `gcc-slot`.
fn many_kernels_panic(target: &Target) {
    let builder = target.builder().slots(1).bounce_bytes(1);
    let session = Session::build(target, builder, &acting(|what| what));
    let used = session.runtime.memory().used;
    for victim in 0..40 {
        let (_, error) = trap(&session, (2, 2), victim % 4);
        let words = target.words_of_panic("gives up", "src/act.rs");
        assert!(error.to_string().contains(&words), "{error}");
    }
    assert_eq!(session.runtime.memory().used, used);
    session.works();
}

fn a_panic_beside_a_failed_call(target: &Target) {
    let session = Session::new(target, &acting_or(|_| Err("no".to_owned())));
    let (_, error) = trap(&session, (1, 4), 2);
    let cause = "; before that, host function `act` failed: no";
    assert!(
        matches!(error, LaunchError::Fault { .. }) && error.to_string().ends_with(cause),
        "what ended the kernel, and why: {error}"
    );
}

fn others_go_on_beside_a_panic(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let other = session.start_act((4, 4), 1, 0, 200);
    let (_, error) = trap(&session, (2, 2), 0);
    assert!(matches!(error, LaunchError::Fault { .. }), "{error}");
    other.launch.wait().unwrap();
    for outcome in read::<Outcome>(&other.outcomes) {
        assert_eq!((outcome.ok, outcome.failed), (200, 0));
    }
}

/// A device thread that dies between claim and publish costs its slot, never the
/// wire: with three of four slots gone, everything is served through the last.
fn a_thread_dies_with_a_slot(target: &Target) {
    let session = Session::build(target, target.builder().slots(4), &acting(|what| what));
    for _ in 0..3 {
        let error = session.run("die_with_slot", (1, 1), &[]).unwrap_err();
        let words = target.words_of_panic("dies with slot", "src/forge.rs");
        assert!(error.to_string().contains(&words), "{error}");
    }
    let (outcomes, result) = session.act((4, 4), 1, 0, 20);
    result.unwrap();
    for outcome in outcomes {
        assert_eq!((outcome.ok, outcome.failed), (20, 0));
    }
}
