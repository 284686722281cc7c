//! The crates of a kernel: what both sides declare, the kernel, and the program that launches it. The files are those
//! of the example in README.md.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

/// Checks that the crates can be created: the sources on which they depend are there, and the folder lies in no
/// workspace. The program becomes one, and workspaces cannot be nested.
pub(super) fn check(folder: &Path) -> anyhow::Result<()> {
    revoff_build::sources()?;
    let folder = std::path::absolute(folder)?;
    for parent in folder.ancestors().skip(1) {
        let manifest = parent.join("Cargo.toml");
        let is_workspace = |text: String| text.lines().any(|line| line.trim() == "[workspace]");
        ensure!(
            !fs::read_to_string(&manifest).is_ok_and(is_workspace),
            "{} is a workspace, in which the program would be another one: create it elsewhere",
            parent.display()
        );
    }
    Ok(())
}

/// Adds the crates to the new program in a folder.
pub(super) fn add(folder: &Path) -> anyhow::Result<()> {
    // The crates depend on them.
    let sources = revoff_build::sources()?;
    let manifest = folder.join("Cargo.toml");
    let text = read(&manifest)?;
    let name = text.lines().find_map(|line| line.strip_prefix("name = "));
    let name = name.context("cargo has written no name")?.trim_matches('"');
    let dependency =
        |krate: &str, folder: &str| format!("{krate} = {{ path = {:?} }}\n", sources.join(folder));
    let package = |krate: &str| {
        format!(
            "[package]\nname = \"{name}-{krate}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n"
        )
    };
    let calls =
        |path: &str| format!("calls = {{ path = \"{path}\", package = \"{name}-calls\" }}\n");

    let root = text.trim_end().to_owned()
        + "\n"
        + &calls("calls")
        + &dependency("revoff", "revoff")
        + "\n[build-dependencies]\n"
        + &dependency("revoff-build", "image-build")
        + "\n[workspace]\nmembers = [\"calls\", \"kernel\"]\ndefault-members = [\".\", \"calls\"]\n";
    // It has a panic handler of its own, which a test has, too.
    let untested = "\n[lib]\ntest = false\ndoctest = false\nbench = false\n";
    let kernel = package("kernel")
        + &calls("../calls")
        + &dependency("revoff-device", "device-rt")
        + untested;
    for (path, content) in [
        ("Cargo.toml", root.as_str()),
        ("build.rs", include_str!("build.rs")),
        ("src/main.rs", include_str!("main.rs")),
        (
            "calls/Cargo.toml",
            &(package("calls") + &dependency("revoff-fn", "host-fn")),
        ),
        ("calls/src/lib.rs", include_str!("calls.rs")),
        ("kernel/Cargo.toml", &kernel),
        ("kernel/src/lib.rs", include_str!("kernel.rs")),
    ] {
        write(&folder.join(path), content)?;
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn write(path: &Path, content: &str) -> anyhow::Result<()> {
    let folder = path.parent().context("it lies in a folder")?;
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, content));
    written.with_context(|| path.display().to_string())
}
