//! Code shared by tests of several examples.

use std::process::Command;

/// The built example of this name, in an environment without variables that affect it.
pub(crate) fn example(name: &str) -> Command {
    let mut path = std::env::current_exe().expect("the test's path");
    // target/PROFILE/deps/TEST
    path.pop();
    path.pop();
    path.push("examples");
    path.push(name);
    assert!(
        path.exists(),
        "no {}: run `cargo build -p examples --examples` first",
        path.display()
    );
    let mut command = Command::new(path);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("REVOFF_") || text.starts_with("GOMP_") {
            command.env_remove(name);
        }
    }
    command
}
