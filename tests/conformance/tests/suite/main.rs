//! The conformance suite: every test on every device and wire.
//!
//! A test is a function that takes a [`Target`] and panics on failure. Those in [`per_wire`] run
//! for each wire of a device, those in [`per_device`] once. Tests of missing devices are counted as
//! ignored; for AMD's GPUs there is a stand-in, whose tests are called `hsa_stand_in`. On emulated GPUs
//! (`emu_sm_90`, `emu_sm_60`) and hardware (`cuda_0`, `hsa_0`) they take images: `cargo xtask images
//! --kernel-crate tests/conformance/kernels --out FOLDER`, and `REVOFF_TEST_IMAGES=FOLDER`.

mod abort;
mod asynchronous;
mod c_image;
mod context;
mod costs;
mod counters;
mod crowd;
mod deadline;
mod driver_calls;
mod driver_errors;
mod events;
mod executor;
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
mod own_queue;
mod pool;
mod present;
mod printed;
mod probe;
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
mod words;

use std::process::ExitCode;

use conformance::watchdog::Watchdog;
use conformance::{DEVICES, Target, child, process, stand_in, target};
use host_rt::Runtime;
use host_rt::shared_abi::wire::WireKind;
use libtest_mimic::{Arguments, Failed, Trial};

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
        random_writes::TESTS,
        resources::TESTS,
        c_image::TESTS,
        words::TESTS,
        lost::TESTS,
        printed::TESTS,
        macros::TESTS,
        logged::TESTS,
    ]
    .concat()
}

fn per_device() -> Vec<Test> {
    [
        images::TESTS,
        own_queue::TESTS,
        events::TESTS,
        tasks::TESTS,
        task_graphs::TESTS,
    ]
    .concat()
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    std::panic::set_hook(Box::new(report_panic));
    if let Some(reason) = stand_in::run_again_if_needed() {
        say(&reason);
    }
    let mut trials = Vec::new();
    for device in DEVICES {
        let mut of_device = Vec::new();
        for target in Target::all_of(device) {
            let named = per_wire()
                .into_iter()
                .filter(|test| (test.fits)(&target))
                .map(|test| trial(target, target.name(), test));
            of_device.extend(named);
        }
        let target = Target {
            device,
            wire: WireKind::NATIVE,
        };
        let named = per_device().into_iter().filter(|test| (test.fits)(&target));
        of_device.extend(named.map(|test| trial(target, target::device_name(device), test)));
        match check_available(&target) {
            Ok(()) => trials.extend(of_device),
            Err(reason) => {
                say_skipped(device, of_device.len(), &reason);
                trials.extend(
                    of_device
                        .into_iter()
                        .map(|trial| trial.with_ignored_flag(true)),
                );
            }
        }
    }
    let target = Target {
        device: driver_errors::DEVICE,
        wire: WireKind::NATIVE,
    };
    let tests = driver_errors::TESTS.iter().chain(driver_calls::TESTS);
    let missing = check_available(&target).err();
    if let Some(reason) = &missing {
        say_skipped(
            target.device,
            driver_errors::TESTS.len() + driver_calls::TESTS.len(),
            reason,
        );
    }
    let is_missing = missing.is_some();
    trials.extend(tests.map(|&test| {
        let prefix = driver_errors::PREFIX.to_owned();
        trial(target, prefix, test).with_ignored_flag(is_missing)
    }));
    if stand_in::is_for("hsa:0") {
        let target = Target {
            device: "hsa:0",
            wire: WireKind::NATIVE,
        };
        let tests = hsa_errors::TESTS.iter();
        trials.extend(tests.map(|&test| trial(target, hsa_errors::PREFIX.to_owned(), test)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Tests that leak on purpose run in separate processes. The last owner of a device may be one
    // of its threads, which is about to end.
    if !child::is_one() && process::settle(stand_in::left_of_all, 0) > 0 {
        let left = DEVICES.map(|device| format!("{device}: {}", stand_in::left(device)));
        let left = left.join(", ");
        say(&format!("the tests have left things behind: {left}"));
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
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
                child::run(&name, environment).map_err(Failed::from)
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
