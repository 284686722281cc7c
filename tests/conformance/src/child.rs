//! Tests that have a process of their own: because they measure it, or because
//! they need an environment of their own.

use std::process::Command;

/// The environment variable that tells a process which test it is there for.
const CHILD: &str = "REVOFF_TEST_CHILD";

/// Whether this process is there for the test `name` alone.
#[must_use]
pub fn is_for(name: &str) -> bool {
    std::env::var_os(CHILD).is_some_and(|child| child == name)
}

/// Whether this process is there for one test: whoever started it has looked whether
/// its device is there.
#[must_use]
pub fn is_one() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test `name` of this program in a process of its own.
///
/// # Errors
/// It fails there; with what the process wrote.
pub fn run(name: &str, environment: &[(&str, &str)]) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|e| format!("no path of this program: {e}"))?;
    let output = Command::new(program)
        .args(["--exact", name, "--test-threads", "1"])
        .env(CHILD, name)
        .envs(environment.iter().copied())
        .output()
        .map_err(|error| format!("no process for the test: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // A process that found no test of that name would end well, too.
    if output.status.success() && text.contains("1 passed") {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("its process: {}\n{text}{errors}", output.status))
}
