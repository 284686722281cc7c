//! The example in README.md, built and run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The README's placeholder for this repository.
const CLONE: &str = "CLONE";

/// The files that the crates need.
const FILES: [&str; 7] = [
    "Cargo.toml",
    "calls/Cargo.toml",
    "kernel/Cargo.toml",
    "calls/src/lib.rs",
    "kernel/src/lib.rs",
    "build.rs",
    "src/main.rs",
];

/// The files of the example, by path: a block of code belongs to the last path in backquotes in the
/// text; in a block, a comment with a path begins another file.
fn files(readme: &str) -> HashMap<String, String> {
    let (_, example) = readme.split_once("\n## An example\n").expect("an example");
    let (example, _) = example.split_once("\n## ").expect("an end");
    let mut files = HashMap::<String, String>::new();
    let (mut path, mut in_code) = (String::new(), false);
    for line in example.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            match line.strip_prefix("# ") {
                Some(named) => path = named.to_owned(),
                None => *files.entry(path.clone()).or_default() += &format!("{line}\n"),
            }
        } else {
            let quoted: Vec<_> = line.split('`').skip(1).step_by(2).collect();
            match quoted.as_slice() {
                [named, code, ..] if code.contains("fn ") => {
                    files.insert((*named).to_owned(), (*code).to_owned());
                }
                _ => {}
            }
            if let Some(named) = quoted.iter().rfind(|quoted| quoted.ends_with(".rs")) {
                path = (*named).to_owned();
            }
        }
    }
    files
}

/// A manifest as written by `cargo new`, with the README's dependencies.
fn manifest(path: &str, dependencies: &str, root: &Path) -> String {
    let (name, workspace) = match path.split_once('/') {
        Some((folder, _)) => (folder, ""),
        None => ("readme", "[workspace]\nmembers = [\"calls\", \"kernel\"]\n"),
    };
    let mut text = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{workspace}\n"
    );
    text += &dependencies.replace(CLONE, &root.display().to_string());
    text
}

#[test]
fn the_example_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    let temporary = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = temporary.join("readme");
    let readme = fs::read_to_string(root.join("README.md")).expect("README");
    let files = files(&readme);
    for path in FILES {
        let content = files
            .get(path)
            .unwrap_or_else(|| panic!("README has no {path}"));
        let content = match path.ends_with(".toml") {
            true => manifest(path, content, root),
            false => content.clone(),
        };
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, content).expect("written");
    }
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the versions");
    let built = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline"])
        .current_dir(&folder)
        .env(
            "CARGO_TARGET_DIR",
            temporary.parent().expect("the target folder"),
        )
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{stderr}");
    let sum: u64 = String::from_utf8_lossy(&built.stdout)
        .trim()
        .parse()
        .expect("a number");
    let bytes = fs::read(folder.join("Cargo.toml")).expect("the file that it reads");
    assert_eq!(sum, bytes.iter().map(|&byte| u64::from(byte)).sum());
}
