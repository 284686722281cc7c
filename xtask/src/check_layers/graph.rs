//! Cycles of imports.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::{Import, Imports};

/// The cycles that span folders: the imports of each.
pub(super) fn cycles(imports: &Imports) -> Vec<Vec<&Import>> {
    let mut targets = BTreeMap::<&str, BTreeSet<&str>>::new();
    for import in &imports.list {
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
        let inside =
            |import: &&Import| in_one(file, &import.from.file) && in_one(file, &import.to.file);
        let ties: Vec<_> = imports.list.iter().filter(inside).collect();
        if ties
            .iter()
            .any(|import| import.from.folder != import.to.folder)
        {
            found.push(ties);
        }
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
