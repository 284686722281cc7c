//! The instructions of each primitive, and their order in a call, equal the golden files, which a
//! person has reviewed.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use codegen::golden::{normalised, without_hashes};
use codegen::listing::Function;
use codegen::shared::{reached, shared};
use codegen::workbench::Workbench;
use targets::arch::Arch;

/// With this environment variable set to 1, golden files are rewritten.
const BLESS: &str = "REVOFF_BLESS";

pub(crate) fn golden(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let text = text(bench, arch)?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(format!("{}.txt", arch.name));
    let at = |error: std::io::Error| format!("{}: {error}", path.display());
    if env::var_os(BLESS).is_some_and(|value| value == "1") {
        return fs::write(&path, text).map_err(at);
    }
    let golden = fs::read_to_string(&path).map_err(at)?;
    let (written_by, here) = (golden.lines().next(), text.lines().next());
    if written_by != here {
        crate::say(&format!(
            "SKIPPED codegen golden: {} is of `{}`, this is `{}`",
            path.display(),
            written_by.unwrap_or_default(),
            here.unwrap_or_default(),
        ));
        return Ok(());
    }
    match difference(&golden, &text) {
        None => Ok(()),
        Some(what) => Err(format!(
            "{}: {what}\nif that is meant: {BLESS}=1 cargo test --test codegen, and review the file",
            path.display()
        )),
    }
}

fn text(bench: &Workbench, arch: &'static Arch) -> Result<String, String> {
    let toolchain = bench.toolchain();
    let mut text = format!(
        "# rustc {}, LLVM {}\n",
        toolchain.release(),
        toolchain.llvm()
    );
    let probes = bench.built(super::rules::PROBES, arch)?;
    let mut functions: Vec<&Function> = probes
        .functions
        .iter()
        .filter(|function| function.name.starts_with("probe_"))
        .collect();
    functions.sort_by_key(|function| &function.name);
    for function in functions {
        section(&mut text, &function.name);
        match &function.same_as {
            Some(other) => text += &format!("    as {other}\n"),
            None => text += &lines(normalised(arch.target, function)),
        }
    }
    let linkable = bench.built(super::rules::ALL_WIRES, arch)?;
    for function in reached(&linkable.functions, "GOMP_target_ext") {
        section(
            &mut text,
            &format!("what {} shares", without_hashes(&function.name)),
        );
        let shared = shared(arch.target, function).into_iter();
        text += &lines(shared.map(|(_, what)| format!("    {what}")).collect());
    }
    Ok(text)
}

fn section(text: &mut String, name: &str) {
    let _ = write!(text, "\n{name}:\n");
}

fn lines(lines: Vec<String>) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The first line where two texts differ, and the section that it is in.
fn difference(golden: &str, text: &str) -> Option<String> {
    if golden == text {
        return None;
    }
    let (mut golden, mut text) = (golden.lines(), text.lines());
    let mut section = "";
    for number in 1.. {
        let (was, is) = (golden.next(), text.next());
        if was != is {
            return Some(format!(
                "line {number}, in `{section}`: it was `{}`, it is `{}`",
                was.unwrap_or("the end").trim(),
                is.unwrap_or("the end").trim()
            ));
        }
        section = was.filter(|line| line.ends_with(':')).unwrap_or(section);
        was?;
    }
    None
}
