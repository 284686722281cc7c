//! Tests of Rust's `std` on devices: what they share.

use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;

/// The folder of the program, whose first argument names a check.
pub const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/program");

/// The command `revoff`, built.
///
/// # Panics
/// It does not build.
pub fn command() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        cargo(
            &["build", "--quiet", "--package", "revoff"].map(OsStr::new),
            env!("CARGO_MANIFEST_DIR"),
        );
        // Cargo puts programs beside the folder of the tests.
        let test = env::current_exe().expect("this test has a path");
        let deps = test.parent().expect("a folder");
        deps.with_file_name("revoff")
    })
}

/// Runs cargo in a folder.
///
/// # Panics
/// It fails.
pub fn cargo(arguments: &[&OsStr], folder: &str) {
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(folder)
        .status()
        .expect("cargo runs");
    assert!(
        status.success(),
        "cargo {arguments:?} in {folder}: {status}"
    );
}

/// `revoff run` of the program on a device.
#[must_use]
pub fn on(device: &str, options: &[&str]) -> Command {
    let mut command = Command::new(command());
    command
        .args(["run", "--device", device, "--manifest-path"])
        .arg(Path::new(PROGRAM).join("Cargo.toml"))
        .args(options);
    command
}

/// The programs of the package in a folder, built for this machine: the folder that they are in.
///
/// # Panics
/// They do not build.
#[must_use]
pub fn built_here(package: &str, target: &Path) -> PathBuf {
    cargo(
        &[
            "build".as_ref(),
            "--quiet".as_ref(),
            "--target-dir".as_ref(),
            target.as_os_str(),
        ],
        package,
    );
    target.join("debug")
}

/// Runs a command with the input and the environment that some checks need.
///
/// # Panics
/// It does not start.
pub fn run(command: &mut Command) -> Output {
    command
        .env("REVOFF_CHECK", "a value")
        .env_remove("REVOFF_NOT_SET");
    run_with(command, &[b"a line\n", &[7; 100_000][..]].concat())
}

/// Runs a command with this input.
///
/// # Panics
/// It does not start.
pub fn run_with(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut to = child.stdin.take().expect("it is piped");
    // A program may write before it has read everything.
    thread::scope(|scope| {
        scope.spawn(move || {
            // One that reads nothing may have ended.
            let _ = to.write_all(input);
        });
        child.wait_with_output().expect("it runs")
    })
}

/// A program's exit status and what it printed.
#[must_use]
pub fn shown(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
