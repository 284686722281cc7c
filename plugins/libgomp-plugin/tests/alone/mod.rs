//! Tests of a plugin in separate processes, because its state is per process.

use std::env;
use std::process::{Command, Output};

/// The variable that selects the part of a process started by a test.
const PART: &str = "GOMP_PLUGIN_TEST_PART";

/// Runs the test `name` in a separate process, with `environment`; there it [`is_alone`].
pub(crate) fn alone(name: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env::current_exe().expect("this test"));
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command
        .env(PART, name)
        .envs(environment.iter().copied())
        .output()
        .expect("it runs")
}

/// Whether this process was started by a test.
pub(crate) fn is_alone() -> bool {
    env::var_os(PART).is_some()
}
