//! The commands `revoff new` and `revoff test`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use std_tests::{command, shown};

const TESTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tested/Cargo.toml");

#[test]
fn a_new_crate_runs_and_its_test_passes() {
    // Not below this workspace, which cargo would make the crate a member of.
    let parent = tempfile::tempdir().expect("a folder");
    let parent = parent.path();
    let revoff = |arguments: &[&str], folder: &Path| {
        let mut command = Command::new(command());
        let output = command.args(arguments).current_dir(folder).output();
        output.expect("it runs")
    };
    let created = revoff(&["new", "hello"], parent);
    assert!(created.status.success(), "{}", shown(&created));
    let folder = parent.join("hello");
    let ran = revoff(&["run"], &folder);
    assert!(
        out(&ran).starts_with("Hello from a device ("),
        "{}",
        shown(&ran)
    );
    assert_eq!(out(&ran).lines().count(), 4, "{}", shown(&ran));
    // In a folder of the crate, as cargo does.
    let below = revoff(&["run"], &folder.join("src"));
    assert_eq!(out(&below).lines().count(), 4, "{}", shown(&below));
    let tested = revoff(&["test"], &folder);
    assert_eq!(tested.status.code(), Some(0), "{}", shown(&tested));
    assert!(
        out(&tested).contains("1 passed; 0 failed"),
        "{}",
        shown(&tested)
    );
    // A second one in the same place is refused, and nothing changes.
    let again = revoff(&["new", "hello"], parent);
    assert_eq!(again.status.code(), Some(2), "{}", shown(&again));
    let errors = String::from_utf8_lossy(&again.stderr);
    assert!(errors.contains("already exists"), "{errors}");
}

/// All outcomes, in the order of the harness.
#[test]
fn tests_have_outcomes() {
    let output = test(&[], &[]);
    let text = out(&output);
    let results: Vec<_> = text.lines().filter(|line| line.contains(" ... ")).collect();
    assert_eq!(
        results,
        [
            "test tests::adds ... ok",
            "test tests::ends_the_program ... FAILED",
            "test tests::fails ... FAILED",
            "test tests::ignored ... ignored",
            "test tests::is_an_error ... FAILED",
            "test tests::panics ... ok",
            "test tests::panics_with_another_message ... FAILED",
            "test tests::runs_in_its_package ... ok",
            "test tests::waits_for_ever ... ok",
            "test outside ... ok",
        ],
        "{}",
        shown(&output)
    );
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    for said in [
        "output of a test that fails",
        "sums differ",
        "an error of its own",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("output of a test that passes"), "{text}");
}

#[test]
fn tests_are_selected() {
    let names = |options: &[&str], harness: &[&str]| {
        let output = test(
            &[&["--lib"], options].concat(),
            &[harness, &["--list"]].concat(),
        );
        assert!(output.status.success(), "{}", shown(&output));
        out(&output)
    };
    assert_eq!(names(&["adds"], &[]), "tests::adds: test\n");
    assert_eq!(
        names(&["adds", "fails"], &[]),
        "tests::adds: test\ntests::fails: test\n"
    );
    assert_eq!(names(&[], &["--ignored"]), "tests::ignored: test\n");
    let output = test(&["--lib", "ignored"], &["--ignored"]);
    assert!(
        out(&output).contains("tests::ignored ... FAILED"),
        "{}",
        shown(&output)
    );
    let output = test(&["--test", "inside"], &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("it has no test `inside`, only: extra, outside"),
        "{errors}"
    );
}

/// Crates that require a feature are built with it only, as with cargo.
#[test]
fn features_are_enabled() {
    for options in [&["--features", "extra"][..], &["--all-features"]] {
        let output = test(&[options, &["feature"]].concat(), &[]);
        assert!(output.status.success(), "{}", shown(&output));
        assert!(
            out(&output).contains("test has_the_feature ... ok"),
            "{}",
            shown(&output)
        );
    }
    let output = test(&["feature"], &[]);
    assert!(output.status.success(), "{}", shown(&output));
    assert!(!out(&output).contains("feature"), "{}", shown(&output));
    let output = test(&["--features", "other", "feature"], &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("does not contain this feature: other"),
        "{errors}"
    );
    assert_eq!(output.status.code(), Some(2), "{errors}");
}

/// Tests are built for a device that this machine does not have.
#[test]
fn tests_are_built_for_an_architecture() {
    let built = |options: &[&str]| {
        let output = test(
            &[&["--lib", "--no-run", "--arch", "sm_70"], options].concat(),
            &[],
        );
        assert!(output.status.success(), "{}", shown(&output));
        fs::read_to_string(out(&output).trim_end()).expect("PTX")
    };
    let first = built(&[]);
    assert_ne!(built(&["--features", "extra,second"]), first);
    // Cargo does not run the compiler for what it has built before.
    assert_eq!(built(&[]), first);
}

/// A test that does not end fails, and those behind it run.
#[test]
fn tests_have_a_time_limit() {
    let mut command = tests(&["--timeout", "1", "waits", "runs", "outside"], &[]);
    let output = command
        .env("REVOFF_CHECK_WAIT", "1")
        .output()
        .expect("it runs");
    let text = out(&output);
    assert!(
        text.contains("tests::waits_for_ever ... FAILED"),
        "{}",
        shown(&output)
    );
    assert!(text.contains("did not end within 1 s"), "{text}");
    assert!(text.contains("test outside ... ok"), "{text}");
}

/// Restricted programs still report their results.
#[test]
fn restricted_tests_run() {
    let output = test(&["--lib", "--deny-all", "adds"], &[]);
    assert!(
        out(&output).contains("tests::adds ... ok"),
        "{}",
        shown(&output)
    );
    let output = test(&["--lib", "--deny-all", "runs_in_its_package"], &[]);
    assert!(
        out(&output).contains("package ... FAILED"),
        "{}",
        shown(&output)
    );
}

/// `revoff test` of the crate `tested`.
fn tests(options: &[&str], harness: &[&str]) -> Command {
    let mut command = Command::new(command());
    command
        .args(["test", "--manifest-path", TESTED])
        .args(options)
        .arg("--")
        .args(harness);
    command
}

fn test(options: &[&str], harness: &[&str]) -> Output {
    tests(options, harness).output().expect("it runs")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
