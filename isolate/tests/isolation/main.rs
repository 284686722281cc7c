//! Jobs that crash, and jobs that reach for what they were not given.
//!
//! The native code of a broken image can make any system call. So do these jobs.

mod crashes;
mod image;
mod mechanisms;
mod probes;

use std::io::Write;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use revoff_isolate::{Error, Job, Sandbox};

/// All jobs.
const JOBS: [Job; 4] = [
    crashes::ACT,
    image::LAUNCH,
    mechanisms::REPORT,
    probes::PROBE,
];

/// The tests, by name.
const TESTS: &[(&str, fn())] = &[
    ("a_result_arrives", crashes::a_result_arrives),
    ("a_crash_is_an_error", crashes::a_crash_is_an_error),
    (
        "an_early_exit_is_an_error",
        crashes::an_early_exit_is_an_error,
    ),
    (
        "errors_and_panics_arrive",
        crashes::errors_and_panics_arrive,
    ),
    ("a_result_has_a_limit", crashes::a_result_has_a_limit),
    ("descriptors_do_not_leak", crashes::descriptors_do_not_leak),
    ("bad_grants_are_named", crashes::bad_grants_are_named),
    (
        "a_sandbox_needs_one_thread",
        crashes::a_sandbox_needs_one_thread,
    ),
    ("it_ends_with_its_parent", crashes::it_ends_with_its_parent),
    ("nothing_else_is_reached", probes::nothing_else_is_reached),
    ("grants_are_reached", probes::grants_are_reached),
    (
        "a_link_is_a_grant_by_both_names",
        probes::a_link_is_a_grant_by_both_names,
    ),
    (
        "a_granted_network_is_reached",
        probes::a_granted_network_is_reached,
    ),
    ("commands_stay_inside", probes::commands_stay_inside),
    (
        "a_broken_image_takes_nothing_down",
        image::a_broken_image_takes_nothing_down,
    ),
    ("without_namespaces", mechanisms::without_namespaces),
    ("without_landlock", mechanisms::without_landlock),
    ("without_both", mechanisms::without_both),
    ("without_filters", mechanisms::without_filters),
];

fn main() -> ExitCode {
    revoff_isolate::init(&JOBS);
    if crashes::is_parent_that_dies() {
        crashes::die_as_parent();
    }
    let unsupported = match mechanisms::REPORT.run(&Sandbox::new(), &[]) {
        Err(Error::Refused { message }) if message.contains("cannot isolate") => Some(message),
        _ => None,
    };
    if let Some(reason) = &unsupported {
        let _ = writeln!(std::io::stderr(), "SKIPPED isolation: {reason}");
    }
    let trial = |(name, test): &(&'static str, fn())| {
        let test = *test;
        let run = move || {
            test();
            Ok::<_, Failed>(())
        };
        Trial::test(*name, run).with_ignored_flag(unsupported.is_some())
    };
    let trials = TESTS.iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
