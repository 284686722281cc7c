//! The interface between build scripts and cargo.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The environment variable that turns every build off.
pub const SKIP: &str = "REVOFF_IMAGE_BUILD_SKIP";

/// A built file.
#[derive(Clone, Debug)]
#[must_use]
pub struct Artifact {
    path: PathBuf,
}

impl Artifact {
    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Passes its path to the crate under construction, as the environment variable `name` of its
    /// compiler.
    pub fn export(&self, name: &str) {
        emit(&format!("rustc-env={name}={}", self.path.display()));
    }

    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }
}

pub(crate) fn skipped(path: &Path) -> bool {
    emit(&format!("rerun-if-env-changed={SKIP}"));
    if env::var_os(SKIP).is_none_or(|value| value.is_empty()) {
        return false;
    }
    emit(&format!(
        "warning=no image {} is built, because {SKIP} is set",
        path.display()
    ));
    fs::write(path, []).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    true
}

pub(crate) fn run(command: &mut Command, what: &str) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{what} failed: {status}"),
        Err(error) => panic!("cannot run {what}: {error}"),
    }
}

pub(crate) fn manifest_dir() -> PathBuf {
    var("CARGO_MANIFEST_DIR").into()
}

pub(crate) fn out_dir() -> PathBuf {
    var("OUT_DIR").into()
}

pub(crate) fn var(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: call this from a build script"))
}

#[expect(
    clippy::print_stdout,
    reason = "this is how a build script speaks to cargo"
)]
pub(crate) fn emit(instruction: &str) {
    println!("cargo::{instruction}");
}
