//! Tests of Rust's `std` on devices: what they share.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The command `revoff`, built.
///
/// # Panics
/// It does not build.
pub fn command() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        cargo(
            &["build", "--quiet", "--package", "revoff"].map(OsStr::new),
            env!("CARGO_MANIFEST_DIR"),
        );
        // Cargo puts programs beside the folder of the tests.
        let test = env::current_exe().expect("this test has a path");
        let deps = test.parent().expect("a folder");
        deps.with_file_name("revoff")
    })
}

/// Runs cargo in a folder.
///
/// # Panics
/// It fails.
pub fn cargo(arguments: &[&OsStr], folder: &str) {
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(folder)
        .status()
        .expect("cargo runs");
    assert!(
        status.success(),
        "cargo {arguments:?} in {folder}: {status}"
    );
}
