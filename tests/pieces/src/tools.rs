//! Other tools: finding them, reporting missing ones, running them.

use std::fs;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use revoff_build::device::Assemblers;

/// A tool.
#[derive(Clone, Debug)]
pub struct Tool(PathBuf);

impl Tool {
    /// A command that runs it.
    #[must_use]
    pub fn command(&self) -> Command {
        Command::new(&self.0)
    }
}

/// Reports that a test is shortened because a tool is missing, even if its output is captured.
pub fn missing(test: &str, what: &str) {
    let _ = writeln!(io::stderr(), "\nSKIPPED pieces, {test}: {what}");
}

/// The tool `name` on the `PATH`; if it is missing, reports that for `test`.
#[must_use]
pub fn tool(test: &str, name: &str, package: &str) -> Option<Tool> {
    let found = Command::new(name).arg("--version").output().is_ok();
    if !found {
        missing(
            test,
            &format!("no {name} (Debian: apt-get install {package})"),
        );
    }
    found.then(|| Tool(name.into()))
}

/// The clang with the LLVM version of the device toolchain, which can read its bitcode.
#[must_use]
pub fn clang(test: &str) -> Option<Tool> {
    tool(test, "clang-22", "clang-22")
}

/// The newest installed GCC with an offload compiler for NVIDIA, and its release.
#[must_use]
pub fn gcc() -> Option<(u32, Tool)> {
    let is_there = |name: &str| Command::new(name).arg("--version").output().is_ok();
    (12..=16)
        .rev()
        .find(|release| {
            is_there(&format!("gcc-{release}"))
                && is_there(&format!("x86_64-linux-gnu-accel-nvptx-none-gcc-{release}"))
        })
        .map(|release| (release, Tool(format!("gcc-{release}").into())))
}

/// An assembler that supports `arch`.
#[must_use]
pub fn ptxas(test: &str, arch: &str) -> Option<Tool> {
    let found = Assemblers::find()
        .expect("assemblers, or none")
        .for_arch(arch)
        .map(|ptxas| Tool(ptxas.path().to_owned()));
    if found.is_none() {
        missing(
            test,
            &format!("no ptxas that knows {arch} (REVOFF_PTXAS names some)"),
        );
    }
    found
}

/// NVIDIA's linker, which lies beside an assembler.
#[must_use]
pub fn nvlink(test: &str, arch: &str) -> Option<Tool> {
    let path = Assemblers::find()
        .expect("assemblers, or none")
        .for_arch(arch)
        .map(|ptxas| ptxas.path().with_file_name("nvlink"))
        .unwrap_or_default();
    let known = Command::new(&path).arg("--help").output();
    let knows = known.is_ok_and(|output| {
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        help.contains(&format!("'{arch}'"))
    });
    if !knows {
        missing(
            test,
            &format!("no nvlink that knows {arch} (it belongs beside ptxas)"),
        );
    }
    knows.then_some(Tool(path))
}

/// Runs `command`, which must succeed.
///
/// # Panics
/// It fails.
#[track_caller]
pub fn run(command: &mut Command) -> String {
    let output = output(command);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        text(&output)
    );
    text(&output)
}

/// Runs `command`, which must fail; returns its messages.
///
/// # Panics
/// It succeeds.
#[track_caller]
pub fn said(command: &mut Command) -> String {
    let output = output(command);
    assert!(!output.status.success(), "{command:?} succeeds");
    text(&output)
}

#[track_caller]
fn output(command: &mut Command) -> Output {
    match command.output() {
        Ok(output) => output,
        Err(error) => panic!("cannot run {command:?}: {error}"),
    }
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
    format!("{out}{err}")
}

/// A new folder for `test` under `root`.
///
/// # Panics
/// It cannot be made.
#[must_use]
pub fn scratch(root: &Path, test: &str) -> PathBuf {
    let folder = root.join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder in the target folder");
    folder
}
