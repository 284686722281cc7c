//! The requirements of the architectures' memory models, written by hand, so that blessing a wrong
//! golden file does not change them.

mod amdgcn;
mod nvptx;

use codegen::listing::{Function, find};
use codegen::workbench::Workbench;
use shared_abi::gomp::REV_OFFLOAD_VAR;
use targets::arch::{Arch, Target};

pub(crate) const PROBES: &str = "tests/codegen/probes";
pub(crate) const LINKABLE: &str = "device-rt/linkable";
/// The same with the producers of GCC's wires.
pub(crate) const ALL_WIRES: &str = "tests/conformance/linkable";

/// Each primitive has the required instructions.
pub(crate) fn primitives(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let built = bench.built(PROBES, arch)?;
    let wrong = match arch.target {
        Target::Nvptx => nvptx::primitives(arch, &built.functions),
        Target::Amdgcn => amdgcn::primitives(arch, &built.functions),
    };
    all_right(&wrong)
}

/// A call publishes and waits as its wire requires.
pub(crate) fn hand_over(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let built = bench.built(ALL_WIRES, arch)?;
    let wrong = match arch.target {
        Target::Nvptx => nvptx::hand_over(arch, &built.functions),
        Target::Amdgcn => amdgcn::hand_over(arch, &built.functions),
    };
    all_right(&wrong)
}

/// Ordinary images contain the producer of `native` alone: nothing in them uses the variable by which
/// the others for NVIDIA find their wires, or counts the tickets of `gcn-queue`.
pub(crate) fn native_alone(bench: &Workbench, arch: &'static Arch) -> Result<(), String> {
    let users = |dir| -> Result<Vec<String>, String> {
        let built = bench.built(dir, arch)?;
        let uses = |function: &&Function| {
            let mut instructions = function.instructions();
            instructions.any(|(_, instruction)| match arch.target {
                Target::Nvptx => instruction.operands.contains(REV_OFFLOAD_VAR),
                Target::Amdgcn => instruction.op.contains("_atomic_add"),
            })
        };
        let users = built.functions.iter().filter(uses);
        Ok(users.map(|function| function.name.clone()).collect())
    };
    let found = users(LINKABLE)?;
    if !found.is_empty() {
        return Err(format!(
            "{LINKABLE} uses GCC's wires in {}",
            found.join(", ")
        ));
    }
    // The search must find the other producers.
    if users(ALL_WIRES)?.is_empty() {
        return Err(format!("nothing in {ALL_WIRES} uses GCC's wires"));
    }
    Ok(())
}

fn all_right(wrong: &[String]) -> Result<(), String> {
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// The number in an architecture's name, `70` for `sm_70`; AMD's may contain letters.
pub(crate) fn number(arch: &Arch) -> u32 {
    let digits = arch.name.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.parse().unwrap_or(0)
}

/// Adds the error of `check` about the function `probe_NAME` to `wrong`.
fn check(
    functions: &[Function],
    name: &str,
    wrong: &mut Vec<String>,
    check: impl FnOnce(&Function) -> Result<(), String>,
) {
    let name = format!("probe_{name}");
    let said = match find(functions, &name) {
        Some(function) => check(function),
        None => Err("it is not there".to_owned()),
    };
    if let Err(said) = said {
        wrong.push(format!("{name}: {said}"));
    }
}

/// Checks that some instruction of `function` contains all these words.
fn expect_instruction(function: &Function, words: &[&str]) -> Result<(), String> {
    let mut instructions = function
        .instructions()
        .map(|(_, instruction)| instruction.to_string());
    if instructions.any(|text| words.iter().all(|word| text.contains(word))) {
        Ok(())
    } else {
        Err(format!("no instruction has {}", words.join(" and ")))
    }
}
