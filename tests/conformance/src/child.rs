//! Tests in separate processes, because they measure the process or need a different environment.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable with the test of a process.
const CHILD: &str = "REVOFF_TEST_CHILD";

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

/// Runs the test `name` of this program in a separate process.
///
/// # Errors
/// The test fails; with the process's output.
pub fn run(name: &str, environment: &[(&str, &str)]) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|e| format!("no path of this program: {e}"))?;
    let output = Command::new(program)
        .args(["--exact", name, "--test-threads", "1"])
        .env(CHILD, name)
        .envs(environment.iter().copied())
        .output()
        .map_err(|error| format!("no process for the test: {error}"))?;
    ENDED.fetch_add(1, Ordering::Relaxed);
    let text = String::from_utf8_lossy(&output.stdout);
    // A process without a test of that name would succeed, too.
    if output.status.success() && text.contains("1 passed") {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("its process: {}\n{text}{errors}", output.status))
}
