//! Building programs, with any compiler.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::run;

/// The time limit of a compiler.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// How a program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Build {
    /// `-O0`, for example.
    pub level: &'static str,
    /// The architecture for the offload compiler, such as `sm_80` or `gfx906`, if not the default.
    pub isa: Option<&'static str>,
}

impl Build {
    /// A build with this level of optimisation.
    #[must_use]
    pub const fn at(level: &'static str) -> Self {
        Self { level, isa: None }
    }

    /// The name of the folder for this build's results.
    #[must_use]
    pub fn folder(self) -> String {
        let level = self.level.trim_start_matches('-');
        self.isa
            .map_or(level.to_owned(), |isa| format!("{level}-{isa}"))
    }
}

/// Whether a folder of `PATH` has a file.
pub(crate) fn on_path(name: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(name).exists()))
}

/// The file name of a library, given its source.
pub(crate) fn library(source: &str) -> String {
    let stem = Path::new(source).file_stem().unwrap_or_default();
    format!("{}.so", stem.to_string_lossy())
}

/// Runs a compiler.
///
/// # Errors
/// The compiler's messages, if it fails.
pub fn complete(command: &mut Command) -> Result<(), String> {
    let outcome = run(command, PATIENCE).map_err(|error| error.to_string());
    let said = outcome.and_then(|outcome| match outcome.status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("{status}\n{}{}", outcome.stdout, outcome.stderr)),
        None => Err(format!("no end after {PATIENCE:?}")),
    });
    said.map_err(|said| format!("{command:?}: {said}"))
}

/// Copies a folder recursively.
///
/// # Errors
/// It cannot be read, or the copy not be written.
pub fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
