//! Tasks of this workspace: `cargo xtask TASK`.

mod abi;
mod check_abi;
mod check_deps;
mod finding;
mod headers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  check-abi          shared-abi keeps to shared-abi/RULES.md
  check-deps         docs/dependencies.md names each third-party crate, and no other
  headers            write shared-abi/include/revoff_abi.h
  headers --check    fail if shared-abi/include/revoff_abi.h is stale";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = workspace_root();
    let done = match args[..] {
        ["check-abi"] => check_abi::run(&root),
        ["check-deps"] => check_deps::run(&root),
        ["headers"] => headers::write(&root),
        ["headers", "--check"] => headers::check(&root),
        ["help" | "--help" | "-h"] => Ok(USAGE.to_owned()),
        _ => Err(anyhow::anyhow!("{USAGE}")),
    };
    match done {
        Ok(said) => {
            say(&mut std::io::stdout(), &said);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&mut std::io::stderr(), &format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a line; a reader that has gone away is no error of the task.
fn say(to: &mut dyn std::io::Write, line: &str) {
    let _ = writeln!(to, "{line}");
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default()
}
