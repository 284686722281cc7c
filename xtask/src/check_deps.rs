//! Checks that docs/dependencies.md gives a reason for exactly the third-party crates that the
//! manifests of the workspace's members name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::finding::{Finding, report};
use crate::metadata;

const FILE: &str = "docs/dependencies.md";

/// The part of the file that lists crates; other parts are about tools.
const HEADING: &str = "## Crates";

pub(crate) fn run(root: &Path) -> Result<String> {
    let mut used = members(&metadata::read(root)?)?;
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    for name in workspace_table(&manifest) {
        used.entry(name).or_insert_with(|| "Cargo.toml".to_owned());
    }
    let text =
        fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    report(compare(&used, &text))?;
    Ok(format!(
        "check-deps: {} crates, each with its reason",
        used.len()
    ))
}

/// Third-party crates of the members' manifests, each with a manifest.
fn members(metadata: &Value) -> Result<BTreeMap<String, String>> {
    let mut used = BTreeMap::new();
    for package in metadata::packages(metadata)? {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        for dependency in dependencies.filter(|dependency| dependency["path"].is_null()) {
            let name = dependency["name"]
                .as_str()
                .context("a dependency without a name")?;
            let by = package["name"].as_str().unwrap_or_default();
            used.insert(name.to_owned(), format!("the manifest of {by}"));
        }
    }
    ensure!(
        !used.is_empty(),
        "cargo metadata shows no dependencies: has the check gone blind?"
    );
    Ok(used)
}

/// Third-party names in `[workspace.dependencies]`, used by a member or not.
fn workspace_table(manifest: &str) -> BTreeSet<String> {
    manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.contains("path ="))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.trim().to_owned())
        .filter(|name| !name.starts_with('#'))
        .collect()
}

/// Crates that the file names: rows of its table, "| `name` | .. |", and the
/// line of each.
fn documented(text: &str) -> BTreeMap<String, usize> {
    let mut inside = false;
    let mut names = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            inside = line == HEADING;
        }
        if let Some(rest) = line.strip_prefix("| `").filter(|_| inside)
            && let Some((name, reason)) = rest.split_once('`')
            && reason.chars().filter(|c| c.is_alphabetic()).count() > 10
        {
            names.insert(name.to_owned(), at + 1);
        }
    }
    names
}

fn compare(used: &BTreeMap<String, String>, text: &str) -> Vec<Finding> {
    let named = documented(text);
    let finding = |line, message| Finding {
        file: FILE.to_owned(),
        line,
        message,
    };
    let heading = text.lines().position(|line| line == HEADING).unwrap_or(0) + 1;
    let missing = used
        .iter()
        .filter(|(name, _)| !named.contains_key(*name))
        .map(|(name, by)| finding(heading, format!("no reason for `{name}`, which {by} names")));
    let surplus = named
        .iter()
        .filter(|(name, _)| !used.contains_key(*name))
        .map(|(name, line)| finding(*line, format!("no manifest names `{name}`")));
    missing.chain(surplus).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# D\n\n## Crates\n\n| crate | why |\n|---|---|\n\
        | `a` | for one good reason |\n| `b` | for another reason |\n\n\
        ## Tools\n\n| `tool` | for the third reason |\n";

    fn used(names: &[&str]) -> BTreeMap<String, String> {
        names
            .iter()
            .map(|n| (n.to_string(), "x".to_owned()))
            .collect()
    }

    #[test]
    fn the_real_file_passes() {
        run(&crate::workspace_root()).expect("docs/dependencies.md is complete");
    }

    #[test]
    fn agreement_has_no_findings() {
        assert_eq!(compare(&used(&["a", "b"]), TEXT), []);
    }

    #[test]
    fn an_omission_is_found() {
        let found = compare(&used(&["a", "b", "c"]), TEXT);
        assert_eq!(found.len(), 1);
        let said = found[0].to_string();
        assert_eq!(
            said,
            "docs/dependencies.md:3: error: no reason for `c`, which x names"
        );
    }

    #[test]
    fn a_row_without_a_reason_is_an_omission() {
        let text = TEXT.replace("for another reason", "-");
        assert_eq!(compare(&used(&["a", "b"]), &text).len(), 1);
    }

    #[test]
    fn what_is_gone_is_found() {
        let found = compare(&used(&["a"]), TEXT);
        assert_eq!(found.len(), 1);
        let said = found[0].to_string();
        assert_eq!(said, "docs/dependencies.md:8: error: no manifest names `b`");
    }

    #[test]
    fn own_crates_are_not_third_party() {
        let manifest = "[workspace.dependencies]\nown = { path = \"own\" }\n# c = 1\n\
            their = { version = \"1\" }\n\n[profile.release]\ndebug = 1\n";
        assert_eq!(
            workspace_table(manifest),
            BTreeSet::from(["their".to_owned()])
        );
        let metadata = serde_json::json!({"packages": [{"name": "p", "dependencies": [
            {"name": "own", "path": "/own"}, {"name": "their", "path": null}]}]});
        let used = members(&metadata).expect("reads");
        assert_eq!(used.keys().collect::<Vec<_>>(), ["their"]);
    }

    #[test]
    fn seeing_nothing_is_an_error() {
        assert!(members(&serde_json::json!({"packages": []})).is_err());
        assert!(members(&serde_json::json!({})).is_err());
    }
}
