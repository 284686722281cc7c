//! The conformance suite: every test on every device and wire.
//!
//! A test is a function that takes a [`Target`] and panics if something is wrong.
//! Those in [`per_wire`] run for each wire of a device, those in [`per_device`]
//! once. For a device that a machine does not have they are counted as ignored.

mod c_image;
mod context;
mod counters;
mod crowd;
mod failures;
mod forged;
mod images;
mod maps;
mod nested;
mod no_calls;
mod pool;
mod present;
mod probe;
mod raw;
mod resources;
mod session;
mod shapes;
mod shutdown;
mod traps;
mod typed;

use std::process::ExitCode;

use conformance::watchdog::Watchdog;
use conformance::{DEVICES, Target, child, target};
use host_rt::Runtime;
use host_rt::shared_abi::wire::WireKind;
use libtest_mimic::{Arguments, Failed, Trial};

/// A test.
#[derive(Clone, Copy)]
struct Test {
    name: &'static str,
    run: fn(&Target),
    process: Process,
}

/// In which process a test runs.
#[derive(Clone, Copy)]
enum Process {
    /// In that of all tests.
    Shared,
    /// In one of its own, with more environment variables.
    Own(&'static [(&'static str, &'static str)]),
}

impl Test {
    /// In a process of its own.
    const fn alone(self) -> Self {
        self.alone_with(&[])
    }

    /// In a process of its own, with these environment variables.
    const fn alone_with(self, environment: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            process: Process::Own(environment),
            ..self
        }
    }
}

/// The test that a function is.
macro_rules! test {
    ($run:ident) => {
        crate::Test {
            name: stringify!($run),
            run: $run,
            process: crate::Process::Shared,
        }
    };
}
use test;

fn per_wire() -> Vec<Test> {
    [
        shapes::TESTS,
        context::TESTS,
        counters::TESTS,
        crowd::TESTS,
        maps::TESTS,
        present::TESTS,
        typed::TESTS,
        no_calls::TESTS,
        failures::TESTS,
        shutdown::TESTS,
        traps::TESTS,
        pool::TESTS,
        nested::TESTS,
        forged::TESTS,
        resources::TESTS,
        c_image::TESTS,
    ]
    .concat()
}

fn per_device() -> Vec<Test> {
    [images::TESTS].concat()
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    std::panic::set_hook(Box::new(report_panic));
    let mut trials = Vec::new();
    for device in DEVICES {
        let mut of_device = Vec::new();
        for target in Target::all_of(device) {
            let named = per_wire()
                .into_iter()
                .map(|test| trial(target, target.name(), test));
            of_device.extend(named);
        }
        let target = Target {
            device,
            wire: WireKind::NATIVE,
        };
        let named = per_device().into_iter();
        of_device.extend(named.map(|test| trial(target, target::device_name(device), test)));
        match Runtime::open(device) {
            Ok(_) => trials.extend(of_device),
            Err(reason) => {
                say_skipped(device, of_device.len(), &reason.to_string());
                trials.extend(
                    of_device
                        .into_iter()
                        .map(|trial| trial.with_ignored_flag(true)),
                );
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
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

/// Says where a test panicked. The panics of host functions are part of tests and
/// come back as errors of launches.
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
