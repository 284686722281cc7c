//! `revoff new`: the files of `--kernel` are those of the example in README.md, which the examples' tests build and
//! run; those of `--c` are built and run here.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use common::{Ended, revoff, run, scratch};

/// The manifest of a created crate, as cargo reads it.
fn metadata(folder: &Path) -> serde_json::Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    let text = run(cargo.current_dir(folder)).answer();
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_kernel_has_the_files_of_the_readme() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("sum");
    let mut command = revoff();
    command.args(["new", "--kernel"]).arg(&program);
    let created = run(&mut command);
    assert_eq!(created.code, Some(0), "{}", created.stderr);
    assert!(created.stderr.contains("cargo run"), "{}", created.stderr);

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).expect("README");
    for file in ["src/main.rs", "calls/src/lib.rs", "kernel/src/lib.rs"] {
        let content = fs::read_to_string(program.join(file)).expect(file);
        assert!(readme.contains(&format!("```rust\n{content}```")), "{file}");
    }
    let build = fs::read_to_string(program.join("build.rs")).expect("build.rs");
    let build: Vec<_> = build.split_whitespace().collect();
    assert!(readme.contains(&format!("`build.rs` is `{}`", build.join(" "))));

    let metadata = metadata(&program);
    let packages = metadata["packages"].as_array().expect("packages");
    let mut found: Vec<_> = packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("a list");
            let names = dependencies
                .iter()
                .map(|of| of["name"].as_str().expect("a name"));
            let name = package["name"].as_str().expect("a name");
            format!("{name}: {}", names.collect::<Vec<_>>().join(" "))
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "sum-calls: revoff-fn",
            "sum-kernel: sum-calls revoff-device",
            "sum: sum-calls revoff revoff-build",
        ]
    );
    // Nothing is overwritten.
    run(&mut command).refused(&["sum"]);

    let inside = scratch("new").join("sum");
    let mut command = revoff();
    run(command.args(["new", "--kernel"]).arg(&inside)).refused(&["is a workspace"]);
    assert!(!inside.exists());
}

/// Runs `make run` in a folder with the built command.
fn make(folder: &Path, device: &str, cache: &Path) -> Ended {
    let mut make = Command::new("make");
    make.args(["--silent", "run"]).current_dir(folder);
    make.arg(format!("REVOFF={}", env!("CARGO_BIN_EXE_revoff")));
    make.arg(format!("DEVICE={device}"));
    run(make.env("REVOFF_CACHE", cache))
}

#[test]
fn the_printed_command_suits_a_shell() {
    let folder = scratch("new-quoted");
    let ended = run(revoff()
        .args(["new", "--c"])
        .arg(folder.join("it's $a folder")));
    let (_, command) = ended.stderr.split_once("to run it: ").expect("a command");
    let (enter, _) = command.split_once(" && make run").expect("two of them");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{enter} && ls")]);
    let files = run(shell.current_dir(folder)).answer();
    assert!(files.contains("kernel.c"), "{files}");
}

#[test]
fn a_kernel_in_c_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (program, cache) = (folder.path().join("sum"), scratch("pieces"));
    let mut command = revoff();
    command.args(["new", "--c"]).arg(&program);
    assert_eq!(run(&mut command).code, Some(0));
    run(&mut command).refused(&["sum exists already"]);
    if !has("make") {
        note("SKIPPED a kernel in C: no make");
        return;
    }

    let bytes = fs::read(program.join("kernel.c")).expect("kernel.c");
    let sum: u64 = bytes.iter().map(|&byte| u64::from(byte)).sum();
    let ended = make(&program, "host", &cache);
    assert_eq!(ended.stdout, format!("{sum}\n"), "{}", ended.stderr);

    if !has("clang-22") {
        note("SKIPPED a kernel in C for GPUs: no clang-22");
        return;
    }
    for device in ["emu:sm_70", "emu:gfx90a"] {
        let ended = make(&program, device, &cache);
        if ended
            .stderr
            .contains("no Rust toolchain here can build for GPUs")
        {
            note("SKIPPED a kernel in C for GPUs: no Rust toolchain that builds for GPUs");
            return;
        }
        assert_eq!(
            ended.stdout,
            format!("{sum}\n"),
            "{device}: {}",
            ended.stderr
        );
    }
}

/// Whether there is such a command.
fn has(command: &str) -> bool {
    Command::new(command).arg("--version").output().is_ok()
}

fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
