//! The instructions that implement a protocol: accesses to shared memory, fences, and operations
//! with other threads.

use std::collections::HashSet;

use targets::arch::Target;

use crate::golden::without_hashes;
use crate::listing::{Function, Instruction, find};

/// Those of `function`, with their scope and order and without registers.
#[must_use]
pub fn shared(target: Target, function: &Function) -> Vec<(usize, String)> {
    function
        .instructions()
        .filter_map(|(number, instruction)| {
            let text = match target {
                Target::Nvptx => ptx(instruction),
                Target::Amdgcn => isa(instruction),
            };
            Some((number, text?))
        })
        .collect()
}

/// The function called `name` and its direct and indirect callees, in the order of the file.
#[must_use]
pub fn reached<'f>(functions: &'f [Function], name: &str) -> Vec<&'f Function> {
    let mut reached = HashSet::new();
    let mut next: Vec<&Function> = find(functions, name).into_iter().collect();
    while let Some(function) = next.pop() {
        if !reached.insert(&function.name) {
            continue;
        }
        for (_, instruction) in function.instructions() {
            let is_symbol = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
            let words = instruction.operands.split(|c| !is_symbol(c));
            next.extend(words.filter_map(|word| find(functions, word)));
        }
    }
    functions
        .iter()
        .filter(|function| reached.contains(&function.name))
        .collect()
}

fn ptx(instruction: &Instruction) -> Option<String> {
    let Instruction { op, operands, .. } = instruction;
    let mut parts = op.split('.');
    let first = parts.next()?;
    match first {
        "ld" | "st" => parts
            .any(|part| ["volatile", "relaxed", "acquire", "release", "mmio"].contains(&part))
            .then(|| op.clone()),
        "call" => {
            let callee = operands.split(',').map(str::trim);
            let callee = callee.into_iter().find(|part| !part.starts_with('('))?;
            Some(format!("{op} {}", without_hashes(callee)))
        }
        "atom" | "red" | "fence" | "membar" | "bar" | "barrier" | "vote" | "shfl" | "match"
        | "redux" | "activemask" | "nanosleep" | "isspacep" | "trap" => Some(op.clone()),
        _ => None,
    }
}

/// Bits that determine the scope of an access.
const BITS: [&str; 7] = ["glc", "slc", "dlc", "sc0", "sc1", "scc", "nt"];

fn isa(instruction: &Instruction) -> Option<String> {
    let Instruction { op, operands, .. } = instruction;
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| op.starts_with(prefix));
    let bits: Vec<&str> = operands
        .split_whitespace()
        .filter(|word| BITS.contains(word) || word.starts_with("scope:") || word.starts_with("th:"))
        .collect();
    if op == "s_wait_alu" {
        // Only affects the processor's own pipeline.
        None
    } else if starts(&["s_wait", "s_sleep", "s_trap", "s_sendmsg", "s_barrier"]) {
        Some(format!("{op} {operands}").trim_end().to_owned())
    } else if starts(&["flat_store", "global_store"])
        || starts(&[
            "buffer_wb",
            "buffer_inv",
            "buffer_gl",
            "global_wb",
            "global_inv",
        ])
        || op.contains("_atomic")
        || (starts(&["flat_load", "global_load"]) && !bits.is_empty())
    {
        Some([&[op.as_str()], &bits[..]].concat().join(" "))
    } else if starts(&["s_swappc", "v_readfirstlane"]) {
        Some(op.clone())
    } else {
        None
    }
}
