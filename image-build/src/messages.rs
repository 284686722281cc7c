//! The messages of cargo and the compiler, and explanations of some.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use serde_json::Value;

use crate::error::{BuildError, io_at};

/// Cargo's messages and exit status.
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) text: String,
    /// The program that it built last, if it was asked for messages in JSON.
    pub(crate) executable: Option<PathBuf>,
}

/// Tells the user about a step that takes long.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Runs cargo. Passes its messages on, except for one, and keeps a copy.
pub(crate) fn run(command: &mut Command, cargo: &Path) -> Result<Said, BuildError> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io_at(cargo))?;
    let executable = child
        .stdout
        .take()
        .map(|artifacts| thread::spawn(|| last_executable(artifacts)));
    let mut text = String::new();
    // rustc warns for each crate that the PTX version is an unstable feature, although there is no
    // other way to request it; cargo then counts these warnings.
    let mut in_notice = false;
    if let Some(messages) = child.stderr.take() {
        for line in BufReader::new(messages).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if line.contains("unstable feature specified for `-Ctarget-feature`") {
                in_notice = true;
            }
            let is_count = line.contains("generated 1 warning");
            if !in_notice && !is_count {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
            in_notice &= !line.trim().is_empty();
            text.push_str(&line);
            text.push('\n');
        }
    }
    let status = child.wait().map_err(io_at(cargo))?;
    Ok(Said {
        status,
        text,
        executable: executable.and_then(|found| found.join().ok().flatten()),
    })
}

/// The last program in cargo's messages in JSON.
fn last_executable(messages: impl Read) -> Option<PathBuf> {
    let lines = BufReader::new(messages).lines().map_while(Result::ok);
    let parsed = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let paths = parsed.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    paths.last()
}

/// An explanation for a compiler message that lacks one.
pub(crate) fn help_for(messages: &str) -> Option<&'static str> {
    // In order of significance, since one cause may produce several messages.
    const KNOWN: [(&str, &str); 6] = [
        (
            "can't find crate for `std`",
            "there is no std on a GPU: make the crate and all that it depends on `#![no_std]` \
             (a dependency may have a feature `std` to turn off)",
        ),
        (
            "can't find crate for `alloc`",
            "there is no allocator on a GPU: use arrays, or `heapless`",
        ),
        (
            "`#[panic_handler]` function required",
            "call `revoff_device::image!()` in the crate's root, and mark kernels with \
             `#[revoff_device::kernel]`",
        ),
        (
            "ABI is experimental",
            "a kernel for GPUs takes, at the top of the crate, \
             #![cfg_attr(any(target_arch = \"nvptx64\", target_arch = \"amdgpu\"), \
             feature(abi_gpu_kernel))]",
        ),
        (
            "PTX does not support \"atomic\"",
            "core's atomics with an order do not exist below sm_70: use relaxed ones with \
             revoff_device::arch's words around them, or build for sm_70 and newer",
        ),
        (
            "inline assembly is unsupported on this target",
            "rustc has no inline assembly for AMD GPUs: a dependency that uses some needs a \
             feature turned off, or another target_arch arm",
        ),
    ];
    KNOWN
        .iter()
        .find(|(sign, _)| messages.contains(sign))
        .map(|(_, help)| *help)
}
