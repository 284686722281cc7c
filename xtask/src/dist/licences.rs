//! The licences of everything in the package: this project's, and those of the crates that are linked into its programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::prefix::output_of;

/// Prefixes of the names of files with licences, in upper case.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// The text with all of them. Crates with the same text share it.
pub(super) fn text(root: &Path, packages: &[&str]) -> Result<String> {
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for krate in linked(root, packages)? {
        let Crate {
            name,
            version,
            licence,
            folder,
        } = krate;
        let mut found = false;
        for entry in fs::read_dir(&folder).with_context(|| folder.clone())? {
            let entry = entry?;
            let file = entry.file_name().to_string_lossy().to_uppercase();
            if entry.file_type()?.is_file() && NAMES.iter().any(|name| file.starts_with(name)) {
                let text = String::from_utf8_lossy(&fs::read(entry.path())?)
                    .trim()
                    .to_owned();
                texts
                    .entry(text)
                    .or_default()
                    .insert(format!("{name} {version}"));
                found = true;
            }
        }
        if !found {
            let others = texts
                .entry(format!("{licence} (no text in the crate)"))
                .or_default();
            others.insert(format!("{name} {version}"));
        }
    }
    ensure!(
        !texts.is_empty(),
        "no crate is linked: has `cargo tree` another output?"
    );
    let mut all = "revoff is licensed under MIT or Apache-2.0, at your choice: LICENSE-MIT, LICENSE-APACHE.\n\
        Its programs contain Rust's standard library (MIT or Apache-2.0; https://github.com/rust-lang/rust) and the \
        crates below.\n"
        .to_owned();
    for (text, crates) in texts {
        let crates: Vec<_> = crates.into_iter().collect();
        write!(
            all,
            "\n{}\n\n{}:\n\n{text}\n",
            "-".repeat(80),
            crates.join(", ")
        )?;
    }
    Ok(all)
}

/// A third-party crate.
struct Crate {
    name: String,
    version: String,
    licence: String,
    folder: String,
}

/// Each third-party crate that is linked into these packages.
fn linked(root: &Path, packages: &[&str]) -> Result<Vec<Crate>> {
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(root).args([
        "tree", "--edges", "normal", "--prefix", "none", "--format", "{p}",
    ]);
    for package in packages {
        tree.args(["--package", package]);
    }
    let tree = String::from_utf8(output_of(&mut tree)?)?;
    let linked: BTreeSet<_> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();

    let mut metadata = Command::new(env!("CARGO"));
    metadata
        .current_dir(root)
        .args(["metadata", "--format-version=1"]);
    let metadata: Value = serde_json::from_slice(&output_of(&mut metadata)?)?;
    let all = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let crates = all
        .iter()
        .filter(|krate| !krate["source"].is_null())
        .map(|krate| {
            let manifest = text(&krate["manifest_path"]);
            let folder = manifest
                .strip_suffix("/Cargo.toml")
                .unwrap_or(&manifest)
                .to_owned();
            Crate {
                name: text(&krate["name"]),
                version: text(&krate["version"]),
                licence: text(&krate["license"]),
                folder,
            }
        });
    Ok(crates
        .filter(|krate| linked.contains(&(krate.name.as_str(), krate.version.as_str())))
        .collect())
}
