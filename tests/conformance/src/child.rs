//! Tests in separate processes, because they measure the process or need a different environment.

use std::io;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable with the test of a process.
const CHILD: &str = "REVOFF_TEST_CHILD";

/// The environment variable with the emulator that runs this program if it is for another processor
/// (`qemu-aarch64`): the system may not start its processes without it.
const RUNNER: &str = "REVOFF_TEST_RUNNER";

/// Whether this process was started for the test `name`.
#[must_use]
pub fn is_for(name: &str) -> bool {
    std::env::var_os(CHILD).is_some_and(|child| child == name)
}

/// Whether this process was started for one test: its parent has checked that the device exists.
#[must_use]
pub fn is_one() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// The number of processes for tests that have ended.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// The number of processes that [`run`] has waited for.
pub(crate) fn ended() -> u64 {
    // Relaxed: a number and nothing else.
    ENDED.load(Ordering::Relaxed)
}

/// Why a test in a separate process has not passed.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The path of this program is not known.
    #[error("no path of this program: {0}")]
    Program(io::Error),
    /// The system has no process for it.
    #[error("no process for the test: {0}")]
    Process(io::Error),
    /// It ran and failed.
    #[error("its process: {status}\n{output}")]
    Failed {
        /// How the process ended.
        status: ExitStatus,
        /// Its standard output, followed by its standard error.
        output: String,
    },
}

/// Runs the test `name` of this program in a separate process. Returns what it wrote to its standard error.
///
/// # Errors
/// The test fails, or does not run.
pub fn run(name: &str, environment: &[(&str, &str)]) -> Result<String, ChildError> {
    let program = std::env::current_exe().map_err(ChildError::Program)?;
    let mut command = match std::env::var_os(RUNNER) {
        Some(runner) => {
            let mut command = Command::new(runner);
            command.arg(program);
            command
        }
        None => Command::new(program),
    };
    let output = command
        .args(["--exact", name, "--test-threads", "1"])
        .env(CHILD, name)
        .envs(environment.iter().copied())
        .output()
        .map_err(ChildError::Process)?;
    ENDED.fetch_add(1, Ordering::Relaxed);
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    // A process without a test of that name would succeed, too.
    if output.status.success() && text.contains("1 passed") {
        return Ok(errors.into_owned());
    }
    Err(ChildError::Failed {
        status: output.status,
        output: format!("{text}{errors}"),
    })
}
