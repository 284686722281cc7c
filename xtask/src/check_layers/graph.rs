//! Cycles of imports.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::{Import, Imports};

/// Files that import each other, directly or not.
pub(super) struct Cycle<'i> {
    /// The imports between them.
    pub(super) imports: Vec<&'i Import>,
    pub(super) spans_folders: bool,
}

/// The cycles that span folders, and those of a folder's files without its facade.
pub(super) fn cycles(imports: &Imports) -> Vec<Cycle<'_>> {
    let all: Vec<_> = imports.list.iter().collect();
    let is_direct = |import: &&&Import| !import.from.is_facade && !import.to.is_facade;
    let direct: Vec<_> = all.iter().filter(is_direct).copied().collect();
    // A cycle across folders may be found in both.
    let across = find(&all).into_iter().filter(|cycle| cycle.spans_folders);
    let inside = find(&direct)
        .into_iter()
        .filter(|cycle| !cycle.spans_folders);
    across.chain(inside).collect()
}

/// All cycles of these imports.
fn find<'i>(imports: &[&'i Import]) -> Vec<Cycle<'i>> {
    let mut targets = BTreeMap::<&str, BTreeSet<&str>>::new();
    for import in imports {
        let to = targets.entry(&import.from.file).or_default();
        to.insert(&import.to.file);
    }
    let reached: BTreeMap<_, _> = targets
        .keys()
        .map(|&file| (file, reachable_from(file, &targets)))
        .collect();
    let in_one = |a: &str, b: &str| {
        let reaches = |from: &str, to| reached.get(from).is_some_and(|files| files.contains(to));
        reaches(a, b) && reaches(b, a)
    };
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for &file in targets.keys() {
        if !in_one(file, file) || !seen.insert(file) {
            continue;
        }
        seen.extend(targets.keys().filter(|other| in_one(file, other)));
        let is_inside =
            |import: &&Import| in_one(file, &import.from.file) && in_one(file, &import.to.file);
        let imports: Vec<_> = imports.iter().copied().filter(is_inside).collect();
        let spans_folders = imports
            .iter()
            .any(|import| import.from.folder != import.to.folder);
        found.push(Cycle {
            imports,
            spans_folders,
        });
    }
    found
}

/// The files from which `file` imports, directly or not.
fn reachable_from<'g>(
    file: &str,
    targets: &BTreeMap<&str, BTreeSet<&'g str>>,
) -> BTreeSet<&'g str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = vec![file];
    while let Some(file) = next.pop() {
        for &target in targets.get(file).into_iter().flatten() {
            if reached.insert(target) {
                next.push(target);
            }
        }
    }
    reached
}
