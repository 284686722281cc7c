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
use revoff_isolate::Job;

use self::mechanisms::{Fits, System};

/// All jobs.
const JOBS: [Job; 4] = [
    crashes::ACT,
    image::LAUNCH,
    mechanisms::REPORT,
    probes::PROBE,
];

/// The name and the function of a test, and whether it applies to a system.
type Test = (&'static str, fn(), fn(&System) -> Fits);

/// All tests.
const TESTS: &[Test] = &[
    (
        "a_result_arrives",
        crashes::a_result_arrives,
        System::isolates,
    ),
    (
        "a_crash_is_an_error",
        crashes::a_crash_is_an_error,
        System::isolates,
    ),
    (
        "an_early_exit_is_an_error",
        crashes::an_early_exit_is_an_error,
        System::isolates,
    ),
    (
        "errors_and_panics_arrive",
        crashes::errors_and_panics_arrive,
        System::isolates,
    ),
    (
        "a_result_has_a_limit",
        crashes::a_result_has_a_limit,
        System::isolates,
    ),
    (
        "descriptors_do_not_leak",
        crashes::descriptors_do_not_leak,
        System::isolates,
    ),
    (
        "bad_grants_are_named",
        crashes::bad_grants_are_named,
        System::isolates,
    ),
    (
        "a_sandbox_needs_one_thread",
        crashes::a_sandbox_needs_one_thread,
        System::isolates,
    ),
    (
        "an_open_folder_is_refused",
        crashes::an_open_folder_is_refused,
        System::isolates,
    ),
    (
        "a_forged_variable_is_named",
        crashes::a_forged_variable_is_named,
        |_| Ok(()),
    ),
    (
        "it_ends_with_its_parent",
        crashes::it_ends_with_its_parent,
        System::isolates,
    ),
    (
        "nothing_else_is_reached",
        probes::nothing_else_is_reached,
        System::isolates,
    ),
    (
        "grants_are_reached",
        probes::grants_are_reached,
        System::isolates,
    ),
    (
        "a_link_is_a_grant_by_both_names",
        probes::a_link_is_a_grant_by_both_names,
        System::isolates,
    ),
    (
        "a_granted_network_is_reached",
        probes::a_granted_network_is_reached,
        System::isolates,
    ),
    (
        "commands_stay_inside",
        probes::commands_stay_inside,
        System::isolates,
    ),
    (
        "a_broken_image_takes_nothing_down",
        image::a_broken_image_takes_nothing_down,
        System::isolates,
    ),
    (
        "nothing_is_missing",
        mechanisms::nothing_is_missing,
        System::is_complete,
    ),
    (
        "without_namespaces",
        mechanisms::without_namespaces,
        System::landlock_alone,
    ),
    (
        "without_mounts",
        mechanisms::without_mounts,
        System::has_choice,
    ),
    (
        "without_landlock",
        mechanisms::without_landlock,
        System::namespaces,
    ),
    ("without_root", mechanisms::without_root, System::is_root),
    ("without_both", mechanisms::without_both, |_| Ok(())),
    (
        "without_filters",
        mechanisms::without_filters,
        System::isolates,
    ),
    (
        "a_late_job_is_stopped",
        crashes::a_late_job_is_stopped,
        System::isolates,
    ),
    (
        "a_thread_that_reads_delays_nothing",
        crashes::a_thread_that_reads_delays_nothing,
        System::isolates,
    ),
    (
        "texts_are_harmless",
        crashes::texts_are_harmless,
        System::isolates,
    ),
];

fn main() -> ExitCode {
    revoff_isolate::init(&JOBS);
    if crashes::is_parent_that_dies() {
        crashes::die_as_parent();
    }
    let system = System::look();
    let trial = |(name, test, fits): &Test| {
        let test = *test;
        let run = move || {
            test();
            Ok::<_, Failed>(())
        };
        let fits = fits(&system);
        if let Err(reason) = &fits {
            let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {reason}");
        }
        Trial::test(*name, run).with_ignored_flag(fits.is_err())
    };
    let trials = TESTS.iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
