//! Tests of a plugin in processes of their own: its state is the process's.

use std::env;
use std::process::{Command, Output};

/// The variable that says which part the process plays that a test starts.
const PART: &str = "GOMP_PLUGIN_TEST_PART";

/// Runs the test `name` in a process of its own, with `environment`; there it [`is_alone`].
pub(crate) fn alone(name: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env::current_exe().expect("this test"));
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command
        .env(PART, name)
        .envs(environment.iter().copied())
        .output()
        .expect("it runs")
}

/// Whether this is the process that a test has started.
pub(crate) fn is_alone() -> bool {
    env::var_os(PART).is_some()
}
