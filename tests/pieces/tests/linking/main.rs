//! Links the pieces with clang, NVIDIA's and AMD's linkers and GCC. The results are inspected;
//! nothing runs.

mod clang_amdgcn;
mod clang_nvptx;
mod gcc;

use std::path::{Path, PathBuf};
use std::process::Command;

use pieces::{HELLO, Tool, include, workspace};

/// The folder for the tests' results.
const TMP: &str = env!("CARGO_TARGET_TMPDIR");

/// The host functions that [`HELLO`] calls.
const FUNCTIONS: [&str; 2] = ["greet", "sort"];

fn root() -> &'static Path {
    Path::new(TMP)
}

fn hello() -> PathBuf {
    workspace().join(HELLO)
}

/// A command that compiles the kernel to `to`, with the flags that `target` lacks.
fn compile(clang: &Tool, target: &[&str], to: &Path) -> Command {
    let mut command = clang.command();
    command.args(target);
    command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-I"]);
    command.arg(include(root())).arg(hello()).arg("-o").arg(to);
    command
}

/// Links `bitcode` into the image.
fn link_bitcode<'c>(command: &'c mut Command, bitcode: &Path) -> &'c mut Command {
    command.args(["-Xclang", "-mlink-builtin-bitcode", "-Xclang"]);
    command.arg(bitcode)
}
