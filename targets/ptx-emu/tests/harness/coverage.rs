//! Whether the corpus has each supported opcode, with any modifiers.

use std::collections::BTreeSet;

use super::{File, code};

/// The sources that decode instructions: each has one `match` of names.
const SOURCES: [&str; 8] = [
    include_str!("../../src/code/decode/arithmetic.rs"),
    include_str!("../../src/code/decode/moves.rs"),
    include_str!("../../src/code/decode/memory.rs"),
    include_str!("../../src/code/decode/control.rs"),
    include_str!("../../src/code/decode/warp.rs"),
    include_str!("../../src/code/decode/asynchronous.rs"),
    include_str!("../../src/code/decode/cluster.rs"),
    include_str!("../../src/code/decode/matrix.rs"),
];

/// Names in the patterns of the `match` of a source.
fn known(source: &str) -> BTreeSet<&str> {
    let begin = source.find("match name {").expect("a match of names");
    let arms = &source[begin..];
    let end = arms.find("_ => return Ok(false)").expect("its last arm");
    let mut names = BTreeSet::new();
    let mut depth = 0;
    for line in arms[..end].lines().skip(1) {
        // Patterns are those of the match itself, not of what is inside its arms.
        if depth == 0 {
            let pattern = line.split("=>").next().unwrap_or_default();
            names.extend(pattern.split('"').skip(1).step_by(2));
        }
        let count = |bracket| line.matches(bracket).count();
        depth = depth + count(['{', '(', '[']) - count(['}', ')', ']']);
    }
    names
}

/// Names of supported instructions that no file uses.
pub(crate) fn missing(files: &[File]) -> Vec<&'static str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._%$".contains(c);
    let used: BTreeSet<&str> = files
        .iter()
        .flat_map(|file| file.text.lines())
        .flat_map(|line| code(line).split("//").next())
        .flat_map(|code| code.split(|c| !is_word(c)))
        .filter_map(|word| word.split('.').next())
        .collect();
    let known: BTreeSet<&str> = SOURCES.iter().flat_map(|source| known(source)).collect();
    assert!(known.len() > 80, "only {} names found", known.len());
    known.difference(&used).copied().collect()
}
