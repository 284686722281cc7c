//! Running LLVM's disassembler, which must be that of LLVM 22.

use std::path::{Path, PathBuf};
use std::process::Command;

use gcn_emu::{Target, WaveSize};

/// The disassembler, if this machine has it.
pub(crate) fn objdump() -> Option<PathBuf> {
    let places = ["/usr/lib/llvm-22/bin/llvm-objdump", "llvm-objdump-22"];
    let found = places.into_iter().map(PathBuf::from).find(|place| {
        let version = Command::new(place).arg("--version").output();
        version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("version 22."))
    });
    if found.is_none() {
        // The output of a test that passes is not seen.
        assert!(std::env::var_os("CI").is_none(), "CI has LLVM 22");
        println!("SKIPPED comparison with LLVM: no llvm-objdump of LLVM 22 (llvm-22)");
    }
    found
}

/// A line of a listing: an instruction, or words that are none.
pub(crate) struct Line {
    /// Its address.
    pub(crate) address: u64,
    /// Its text; none if the words are invalid.
    pub(crate) text: Option<String>,
    /// Its words.
    pub(crate) words: Vec<u32>,
}

/// The listing of a file, and whether the disassembler finished. For some invalid words it crashes.
pub(crate) fn list(objdump: &Path, file: &Path, target: Option<Target>) -> (Vec<Line>, bool) {
    let mut command = Command::new(objdump);
    // Without a stack trace, which takes seconds.
    command.env("LLVM_DISABLE_SYMBOLIZATION", "1");
    if let Some(target) = target {
        command.arg("-D");
        command.arg(format!("--mcpu={}", target.arch));
        command.arg("--triple=amdgcn-amd-amdhsa");
        if target.wave == WaveSize::Wave64 {
            command.arg("--mattr=+wavefrontsize64");
        }
    } else {
        command.arg("-d");
    }
    let output = command.arg(file).output().expect("it was found before");
    let text = String::from_utf8_lossy(&output.stdout);
    // The words are in the first section.
    let mut sections = 0;
    let lines = text.lines().take_while(|line| {
        sections += usize::from(line.starts_with("Disassembly of section"));
        target.is_none() || sections < 2
    });
    let lines = lines.filter_map(line).collect();
    (lines, output.status.success())
}

fn line(line: &str) -> Option<Line> {
    let (text, rest) = line.strip_prefix('\t')?.rsplit_once("// ")?;
    let (address, words) = rest.split_once(':')?;
    let words = words.split('<').next()?;
    let words: Result<Vec<_>, _> = words
        .split_whitespace()
        .map(|word| u32::from_str_radix(word, 16))
        .collect();
    let text = text.trim_end();
    let comments = ["/*Invalid", "/* Invalid", "/* invalid", "/* row_"];
    let valid = !text.starts_with(".long")
        && text != "v_illegal"
        && !comments.iter().any(|comment| text.contains(comment));
    Some(Line {
        address: u64::from_str_radix(address.trim(), 16).ok()?,
        text: valid.then(|| text.to_owned()),
        words: words.ok()?,
    })
}
