//! The sources of this project: `std` for devices is built from them, and new kernels depend on them.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::BuildError;
use crate::package;

/// The clone that this crate was compiled in.
const CLONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The folder with the sources: of the installed package whose program this is, or else the clone in which this
/// crate was compiled.
///
/// # Errors
/// Neither is there.
pub fn sources() -> Result<PathBuf, BuildError> {
    let installed = installed().map(|prefix| prefix.join(package::SOURCES));
    let clone = Path::new(CLONE);
    let folder = installed.unwrap_or_else(|| clone.canonicalize().unwrap_or(clone.to_owned()));
    match folder.join("device-std/Cargo.toml").is_file() {
        true => Ok(folder),
        false => Err(BuildError::NoSources(folder)),
    }
}

/// The folder in which the package with this program is installed, wherever that is: its programs are in `bin`.
pub(crate) fn installed() -> Option<PathBuf> {
    let program = env::current_exe().ok()?.canonicalize().ok()?;
    let bin = program.parent()?;
    let prefix = bin.parent()?;
    (bin.ends_with("bin") && prefix.join(package::SOURCES).is_dir()).then(|| prefix.to_owned())
}
