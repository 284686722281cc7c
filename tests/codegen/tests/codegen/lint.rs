//! Whole images hold nothing that did not come from device-rt's own instructions.

use codegen::lint::lint;
use codegen::workbench::Workbench;
use targets::arch::{Arch, Target};

use crate::rules::{ALL_WIRES, LINKABLE};

/// Images that are looked at on one architecture of each target: their own code is the
/// same on all, and takes LLVM long for AMD's.
const ONCE: [&str; 3] = [
    "examples/digest/kernel",
    crate::floor::KERNELS,
    "tests/conformance/kernels",
];

pub(crate) fn images(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let mut crates = vec![LINKABLE, ALL_WIRES];
    if arch.target == Target::Nvptx {
        crates.extend(["device-rt/gcc", "examples/digest/kernel"]);
    }
    if ["sm_70", "gfx90a"].contains(&arch.name) {
        crates.extend(ONCE);
    }
    let mut wrong = vec![];
    for dir in crates {
        let built = bench.built(dir, arch)?;
        if built.functions.is_empty() {
            return Err(format!("{dir} has no function to look at"));
        }
        let mut found = lint(arch, &built.functions);
        found.retain(|finding| !logs(&finding.function));
        let place = built.assembly.display();
        wrong.extend(found.iter().map(|finding| format!("{place}: {finding}")));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// Whether a function uses the crate `log`, whose atomics are core's: the suite's kernels that log, and
/// device-rt's logger.
fn logs(function: &str) -> bool {
    ["log_records", "log_too_much"].contains(&function) || function.contains("13revoff_device3log")
}

/// The lint sees what the compiler makes of core's atomics, not only what we think of.
pub(crate) fn planted(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let built = bench.built("tests/codegen/planted", arch)?;
    let found = lint(arch, &built.functions);
    let [finding] = &found[..] else {
        return Err(format!(
            "one planted fault, and these were found: {found:?}"
        ));
    };
    let text = std::fs::read_to_string(&built.assembly).map_err(|error| error.to_string())?;
    let line = text.lines().nth(finding.line - 1).unwrap_or_default();
    let said = finding.to_string();
    let op = finding.instruction.split(' ').next().unwrap_or_default();
    if finding.function == "planted"
        && op.starts_with("atom.")
        && op.ends_with("add.u32")
        && line.contains(op)
        && said.contains("use revoff_device::arch's words")
    {
        Ok(())
    } else {
        Err(format!("this is not the planted fault: {said}"))
    }
}
