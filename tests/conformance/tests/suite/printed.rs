//! The output of kernels: in order per thread, complete when the launch has ended, and, on the wire
//! with messages for it, independent of calls meanwhile.

use std::sync::Arc;
use std::time::Duration;

use conformance::Target;
use conformance::captured::{Captured, Stalled};
use conformance_calls::{LONG_LINE, Outcome};
use revoff_host::LaunchError;

use crate::gate::acting_behind;
use crate::session::{Session, acting, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(texts_of_all_lengths).alone().only(Target::prints),
    test!(everything_is_there_when_the_launch_has_ended)
        .alone()
        .only(Target::prints),
    test!(printing_goes_on_while_functions_are_slow)
        .alone()
        .only(Target::prints),
    test!(calls_are_served_while_others_print)
        .alone()
        .only(Target::prints),
    test!(who_waits_may_hold_the_standard_output)
        .alone()
        .only(Target::prints),
    test!(what_a_late_kernel_has_printed_is_there)
        .alone()
        .only(Target::has_text_messages),
    test!(an_output_that_takes_no_more_is_named)
        .alone()
        .only(Target::has_text_messages),
    test!(calls_go_on_while_the_output_is_stuck)
        .alone()
        .only(Target::has_text_messages),
    test!(a_fault_is_reported_while_the_output_is_stuck)
        .alone()
        .only(|target| target.has_text_messages() && target.survives_faults()),
    test!(nobody_watches_when_a_kernel_ends)
        .alone()
        .only(Target::has_text_messages),
    test!(counters_wrap_while_kernels_print)
        .alone()
        .only(Target::prints),
];

/// Prints by the kernel `print_and_call`.
fn print(session: &Session, grid: (u32, u32), rounds: u32, calls: u32) -> Vec<u32> {
    let ways = session.zeroed::<u32>((grid.0 * grid.1) as usize);
    let result = session.run("print_and_call", grid, &[&rounds, &calls, &ways]);
    result.unwrap();
    read(&ways)
}

/// The numbers of the lines are those that `threads` threads have printed in `rounds` rounds, in
/// order for each.
#[track_caller]
fn check(lines: &[String], threads: usize, rounds: u32) {
    let mut next = vec![0u32; threads];
    let mut long = 0;
    for line in lines {
        if line == LONG_LINE.trim_end() {
            long += 1;
            continue;
        }
        let (kind, number) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let number = number.trim_end_matches(".000000");
        let number: u32 = number.parse().unwrap_or_else(|_| panic!("{line}"));
        let (thread, round) = (number as usize / 1_000_000, number % 1_000_000);
        assert_eq!(round, next[thread], "thread {thread}: {line}");
        assert_eq!(
            kind,
            ["integer", "double", "long"][round as usize % 3],
            "{line}"
        );
        next[thread] += 1;
    }
    assert_eq!(next, vec![rounds; threads]);
    assert_eq!(long, threads as u32 * (rounds / 3));
}

fn texts_of_all_lengths(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let captured = Captured::begin();
    session.run("print_texts", (1, 1), &[]).unwrap();
    let expected: String = [0, 1, 127, 128, 129, 255, 256, 257, LONG_LINE.len()]
        .into_iter()
        .map(|len| &LONG_LINE[LONG_LINE.len() - len..])
        .collect();
    assert_eq!(
        String::from_utf8_lossy(&captured.bytes()),
        expected,
        "in several messages"
    );
}

fn everything_is_there_when_the_launch_has_ended(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    // One message, often: only the end of the launch is noticed.
    for grid in [(1, 1); 50].into_iter().chain([(8, 16), (1, 1), (16, 8)]) {
        let rounds = if grid == (1, 1) { 3 } else { 60 };
        let captured = Captured::begin();
        let ways = print(&session, grid, rounds, 0);
        assert_eq!(ways, vec![rounds; ways.len()]);
        check(&captured.lines(), ways.len(), rounds);
    }
    session.works();
}

fn who_waits_may_hold_the_standard_output(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let captured = Captured::begin();
    let lock = std::io::stdout().lock();
    print(&session, (1, 4), 3, 1);
    drop(lock);
    check(&captured.lines(), 4, 3);
}

/// Its one serving thread is inside a function, so no other thread prints it.
fn what_a_late_kernel_has_printed_is_there(target: &Target) {
    let gate = Arc::default();
    let builder = target.builder().threads(1);
    let builder = builder.deadline(Duration::from_secs(2));
    let session = Session::build(target, builder, &acting_behind(&gate));
    let captured = Captured::begin();
    let ways = session.zeroed::<u32>(8);
    let result = session.run("print_and_call", (1, 8), &[&1u32, &1u32, &ways]);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("pending on the host: `act`"), "{error}");
    check(&captured.lines(), 8, 1);
    gate.open();
}

fn an_output_that_takes_no_more_is_named(target: &Target) {
    let builder = target.builder().deadline(Duration::from_secs(2));
    let session = Session::build(target, builder, &acting(|what| what));
    let stalled = Stalled::begin();
    let ways = session.zeroed::<u32>(16);
    let result = session.run("print_and_call", (1, 16), &[&300u32, &0u32, &ways]);
    drop(stalled);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("the standard output"), "{error}");
}

/// A pipe that is never read blocks no call, with one serving thread or several.
fn calls_go_on_while_the_output_is_stuck(target: &Target) {
    for threads in [1, 4] {
        let builder = target.builder().threads(threads);
        let session = Session::build(target, builder, &acting(|what| what));
        let stalled = Stalled::begin();
        let ways = session.zeroed::<u32>(16);
        // More than a pipe accepts, and less than may wait for it.
        let printing = session.start("print_and_call", (1, 16), &[&150u32, &0u32, &ways]);
        stalled.wait_until_full();
        let calling = session.start_act((1, 4), 1, 0, 50);
        while session.runtime.requests() < 200 {
            std::thread::yield_now();
        }
        drop(stalled);
        calling.launch.wait().unwrap();
        printing.wait().unwrap();
    }
}

/// The end of a kernel is reported before its text is written, even with a deadline.
fn a_fault_is_reported_while_the_output_is_stuck(target: &Target) {
    // Both kernels end before that, also on a busy machine.
    let builder = target.builder().deadline(Duration::from_secs(5));
    let session = Session::build(target, builder, &acting(|what| what));
    let stalled = Stalled::begin();
    let ways = session.zeroed::<u32>(16);
    let printing = session.start("print_and_call", (1, 16), &[&150u32, &0u32, &ways]);
    stalled.wait_until_full();
    let stuck = session.zeroed::<Outcome>(1);
    let result = session.run("call_and_trap", (1, 1), &[&1u64, &0u32, &stuck]);
    assert!(
        matches!(result, Err(LaunchError::Fault { .. })),
        "{result:?}"
    );
    let error = printing.wait().unwrap_err().to_string();
    assert!(
        error.contains("has ended, but the standard output"),
        "{error}"
    );
    drop(stalled);
    printing.wait().unwrap();
}

/// All serving threads but one are inside functions until everything is printed.
fn printing_goes_on_while_functions_are_slow(target: &Target) {
    let gate = Arc::default();
    let session = Session::build(target, target.builder().threads(4), &acting_behind(&gate));
    let calling = session.start_act(target.apart((1, 3)), 1, 0, 1);
    while session.runtime.requests() < 3 {
        std::thread::yield_now();
    }
    let captured = Captured::begin();
    print(&session, (4, 16), 60, 0);
    check(&captured.lines(), 64, 60);
    gate.open();
    calling.launch.wait().unwrap();
}

/// Threads print and call. A thread's text before a call is written before the host function runs,
/// if no thread is between its ticket and its message: here there is only one.
fn calls_are_served_while_others_print(target: &Target) {
    let session = Session::new(target, &acting(|what| what));
    let captured = Captured::begin();
    let calling = session.start_act((2, 8), 1, 0, 300);
    print(&session, (8, 16), 90, 7);
    calling.launch.wait().unwrap();
    let outcomes = read::<conformance_calls::Outcome>(&calling.outcomes);
    assert!(outcomes.iter().all(|outcome| outcome.ok == 300));
    check(&captured.lines(), 128, 90);
    drop(captured);

    let captured = Arc::new(Captured::begin());
    let seen = Arc::clone(&captured);
    let functions = acting(move |what| {
        let lines = seen.lines();
        let last = lines.last().expect("a line before the first call");
        assert!(last.contains(&format!(" {what}")), "{last} before {what}");
        what
    });
    let session = Session::new(target, &functions);
    print(&session, (1, 1), 90, 1);
    check(&captured.lines(), 1, 90);
}

/// The one serving thread is inside a function when another kernel that has printed ends.
fn nobody_watches_when_a_kernel_ends(target: &Target) {
    let gate = Arc::default();
    let session = Session::build(target, target.builder().threads(1), &acting_behind(&gate));
    let calling = session.start_act((1, 1), 1, 0, 1);
    while session.runtime.requests() < 1 {
        std::thread::yield_now();
    }
    let captured = Captured::begin();
    // Fewer messages than slots: nothing takes them while the kernel runs.
    print(&session, (2, 8), 9, 0);
    check(&captured.lines(), 16, 9);
    gate.open();
    calling.launch.wait().unwrap();
}

fn counters_wrap_while_kernels_print(target: &Target) {
    for first in [u32::MAX - 700, (1 << 31) - 700] {
        let builder = target.builder().initial_seq(first);
        let session = Session::build(target, builder, &acting(|what| what));
        let captured = Captured::begin();
        print(&session, (2, 16), 60, 5);
        check(&captured.lines(), 32, 60);
        drop(captured);
        session.works();
    }
}
