//! The conformance suite: every test on every device and wire.
//!
//! A test is a function that takes a [`Target`] and panics on failure. Those in [`per_wire`] run
//! for each wire of a device, those in [`per_device`] once; on some devices, a [`SELECTION`] of them.
//! Tests of missing devices are counted as ignored. On emulated GPUs (`emu_sm_90`, `emu_gfx90a`, ..)
//! and hardware (`cuda_0`, `hsa_0`) they take images: `cargo xtask images --kernel-crate
//! tests/conformance/kernels --out FOLDER`, and `REVOFF_TEST_IMAGES=FOLDER`.

mod abort;
mod asynchronous;
mod c_image;
mod context;
mod costs;
mod counters;
mod crowd;
mod deadline;
mod deaths;
mod driver_calls;
mod driver_errors;
mod events;
mod executor;
mod failing_calls;
mod failures;
mod foreign;
mod forged;
mod gate;
mod hsa_errors;
mod image;
mod images;
mod logged;
mod lost;
mod macros;
mod maps;
mod nested;
mod no_calls;
mod on_device;
mod own_queue;
mod pool;
mod present;
mod printed;
mod probe;
mod process_faults;
mod races;
mod random;
mod random_requests;
mod random_writes;
mod raw;
mod refusal;
mod resources;
mod session;
mod shapes;
mod shutdown;
mod started;
mod task_graphs;
mod tasks;
mod traps;
mod typed;
mod typed_launch;
mod weak;
mod words;

use std::process::ExitCode;

use conformance::watchdog::Watchdog;
use conformance::{DEVICES, DEVICES_OF_SELECTION, Target, child, emulated, process, target};
use libtest_mimic::{Arguments, Trial};
use revoff_host::Runtime;
use revoff_host::shared_abi::wire::WireKind;

/// A test.
#[derive(Clone, Copy)]
struct Test {
    name: &'static str,
    run: fn(&Target),
    process: Process,
    /// Whether it applies to a target.
    fits: fn(&Target) -> bool,
}

/// The process in which a test runs.
#[derive(Clone, Copy)]
enum Process {
    /// The process of all tests.
    Shared,
    /// A separate process, with more environment variables.
    Own(&'static [(&'static str, &'static str)]),
}

impl Test {
    /// In a separate process.
    const fn alone(self) -> Self {
        self.alone_with(&[])
    }

    /// In a separate process, with these environment variables.
    const fn alone_with(self, environment: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            process: Process::Own(environment),
            ..self
        }
    }

    /// Only on targets for which `fits` is true.
    const fn only(self, fits: fn(&Target) -> bool) -> Self {
        Self { fits, ..self }
    }
}

/// Makes a test of a function.
macro_rules! test {
    ($run:ident) => {
        crate::Test {
            name: stringify!($run),
            run: $run,
            process: crate::Process::Shared,
            fits: |_| true,
        }
    };
}
use test;

fn per_wire() -> Vec<Test> {
    [
        shapes::TESTS,
        context::TESTS,
        costs::TESTS,
        counters::TESTS,
        crowd::TESTS,
        maps::TESTS,
        present::TESTS,
        typed::TESTS,
        asynchronous::TESTS,
        on_device::TESTS,
        started::TESTS,
        typed_launch::TESTS,
        no_calls::TESTS,
        failures::TESTS,
        shutdown::TESTS,
        traps::TESTS,
        deadline::TESTS,
        abort::TESTS,
        pool::TESTS,
        nested::TESTS,
        foreign::TESTS,
        forged::TESTS,
        random_requests::TESTS,
        random_writes::TESTS,
        resources::TESTS,
        c_image::TESTS,
        words::TESTS,
        lost::TESTS,
        deaths::TESTS,
        printed::TESTS,
        macros::TESTS,
        logged::TESTS,
        weak::TESTS,
        races::TESTS,
    ]
    .concat()
}

fn per_device() -> Vec<Test> {
    [
        images::TESTS,
        own_queue::TESTS,
        process_faults::TESTS,
        events::TESTS,
        tasks::TESTS,
        task_graphs::TESTS,
    ]
    .concat()
}

/// The tests on [`DEVICES_OF_SELECTION`]: some of each kind that depend on an architecture's instructions.
const SELECTION: &[&str] = &[
    "one_request",
    "kernels_in_turn",
    "more_threads_than_slots",
    "counters_wrap_in_all_slots",
    "every_kind_in_memory",
    "every_kind_on_the_stack",
    "sixty_four_marshalled_ranges",
    "structures",
    "all_forms",
    "large_slices",
    "three_deep",
    "every_form_is_passed",
    "texts_of_all_lengths",
    "lines_stay_whole",
    "macros_print_like_std",
    "records_arrive_in_the_log",
    "a_fault_loses_the_device",
    "a_kernel_that_does_not_end_is_named",
    "a_queue_waits_for_another",
    "a_stencil_with_halos",
    "calls_have_no_races",
    "slices_change_in_each_call",
    "calls_are_right_in_weak_memory",
    "a_wire_needs_what_it_waits_for",
];

/// The tests with names of [`SELECTION`].
fn selected() -> [Vec<Test>; 2] {
    let all = [per_wire(), per_device()];
    for name in SELECTION {
        let is_there = all.iter().flatten().any(|test| test.name == *name);
        assert!(is_there, "there is no test `{name}` to select");
    }
    all.map(|mut tests| {
        tests.retain(|test| SELECTION.contains(&test.name));
        tests
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    std::panic::set_hook(Box::new(report_panic));
    let mut trials = Vec::new();
    for device in DEVICES {
        trials.extend(on_device(device, &per_wire(), &per_device()));
    }
    let [of_wires, of_devices] = selected();
    for device in DEVICES_OF_SELECTION {
        trials.extend(on_device(device, &of_wires, &of_devices));
    }
    let of_cuda = [driver_errors::TESTS, driver_calls::TESTS].concat();
    for (device, prefix, tests) in [
        (driver_errors::DEVICE, driver_errors::PREFIX, &of_cuda[..]),
        (hsa_errors::DEVICE, hsa_errors::PREFIX, hsa_errors::TESTS),
    ] {
        let wire = WireKind::NATIVE;
        let target = Target { device, wire };
        let tests = tests
            .iter()
            .map(|&test| trial(target, prefix.to_owned(), test));
        trials.extend(if_available(&target, tests.collect()));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Tests that leak on purpose run in separate processes.
    if child::is_one() {
        return conclusion.exit_code();
    }
    // The last owner of a device may be one of its threads, which is about to end.
    let unfreed = process::settle(emulated::unfreed, 0);
    if unfreed > 0 {
        say(&format!(
            "the tests have not freed {unfreed} resources of emulated GPUs"
        ));
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// The tests of each wire of a device, and of the device, that apply to it.
fn on_device(device: &'static str, per_wire: &[Test], per_device: &[Test]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for target in Target::all_of(device) {
        let tests = per_wire.iter().filter(|test| (test.fits)(&target));
        trials.extend(tests.map(|&test| trial(target, target.name(), test)));
    }
    let wire = WireKind::NATIVE;
    let target = Target { device, wire };
    let tests = per_device.iter().filter(|test| (test.fits)(&target));
    trials.extend(tests.map(|&test| trial(target, target::device_name(device), test)));
    if_available(&target, trials)
}

/// Tests, which are ignored if the device is missing.
fn if_available(target: &Target, trials: Vec<Trial>) -> Vec<Trial> {
    let Err(reason) = check_available(target) else {
        return trials;
    };
    say_skipped(target.device, trials.len(), &reason);
    let ignored = trials.into_iter();
    ignored.map(|trial| trial.with_ignored_flag(true)).collect()
}

/// Whether the device and the suite's kernels for it exist.
fn check_available(target: &Target) -> Result<(), String> {
    if child::is_one() {
        return Ok(());
    }
    Runtime::open(target.device).map_err(|e| e.to_string())?;
    image::check_available(target)
}

fn trial(target: Target, prefix: String, test: Test) -> Trial {
    let name = format!("{prefix}::{}", test.name);
    Trial::test(name.clone(), move || {
        let _watchdog = Watchdog::watch(&name);
        match test.process {
            Process::Own(environment) if !child::is_for(&name) => {
                child::run(&name, environment)?;
                Ok(())
            }
            _ => {
                (test.run)(&target);
                Ok(())
            }
        }
    })
}

#[expect(clippy::print_stderr, reason = "what is skipped must be seen")]
fn say_skipped(device: &str, tests: usize, reason: &str) {
    eprintln!("SKIPPED device {device}, {tests} tests counted as ignored: {reason}");
}

#[expect(clippy::print_stderr, reason = "why a device is missing must be seen")]
fn say(what: &str) {
    eprintln!("{what}");
}

/// Prints the location of a test's panic. Panics of host functions are part of tests and are
/// returned as errors of launches.
#[expect(
    clippy::print_stderr,
    reason = "the harness has the message, but no place"
)]
fn report_panic(info: &std::panic::PanicHookInfo<'_>) {
    let thread = std::thread::current();
    if !thread.name().is_some_and(|name| name.starts_with("serve")) {
        eprintln!("{info}");
    }
}
