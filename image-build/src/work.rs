//! The folder in which crates are compiled: one for all kernel crates of a workspace, so that macros
//! are compiled once, `core` once for each target, and common dependencies once for each architecture.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{BuildError, io_at};

/// The environment variable that names another folder.
pub const WORK: &str = "REVOFF_IMAGE_BUILD_DIR";

/// The part of the folder that is for GPUs or for the host. Other builds in that part wait while
/// this lives: cargo gives crates of one name in different workspaces the same files.
pub(crate) struct Work {
    dir: PathBuf,
    _lock: File,
}

impl Work {
    /// Locks the part called `name`, for results that go to `out`.
    pub(crate) fn lock(out: &Path, name: &str) -> Result<Self, BuildError> {
        let program = env::current_exe().unwrap_or_default();
        let dir = folder(out, &program)?.join(name);
        fs::create_dir_all(&dir).map_err(io_at(&dir))?;
        let path = dir.join("lock");
        let lock = File::create(&path).map_err(io_at(&path))?;
        lock.lock().map_err(io_at(&path))?;
        Ok(Self { dir, _lock: lock })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

/// The folder for results that go to `out`, absolute: the one that [`WORK`] names, or one in the
/// cargo target directory that `out` lies in, or else `program`, the running one, or else in `out`
/// itself.
fn folder(out: &Path, program: &Path) -> Result<PathBuf, BuildError> {
    if let Some(named) = env::var_os(WORK).filter(|named| !named.is_empty()) {
        return std::path::absolute(&named).map_err(io_at(Path::new(&named)));
    }
    let out = std::path::absolute(out).map_err(io_at(out))?;
    // Cargo's files: the first only in a folder that it made, the second in any.
    let is_target = |dir: &&Path| {
        let marks = ["CACHEDIR.TAG", ".rustc_info.json"];
        marks.iter().any(|mark| dir.join(mark).is_file())
    };
    let mut dirs = out.ancestors().chain(program.ancestors());
    let dir = dirs.find(is_target).unwrap_or(&out);
    Ok(dir.join("image-build"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_results_in_a_target_directory_share_one_folder() {
        let root = env::temp_dir().join(format!("image-build-{}", std::process::id()));
        let target = root.join("target");
        let outs = ["debug/build/a-1/out", "release/build/b-2/out", "images"];
        for out in outs {
            fs::create_dir_all(target.join(out)).expect("a folder");
        }
        // Outside of cargo's each has its own.
        let (alone, program) = (root.join("images"), target.join("debug/xtask"));
        let found = folder(&alone, &program).expect("found");
        assert_eq!(found, alone.join("image-build"));
        fs::write(target.join(".rustc_info.json"), "").expect("written");
        for out in outs {
            let found = folder(&target.join(out), Path::new("")).expect("found");
            assert_eq!(found, target.join("image-build"));
        }
        let found = folder(&alone, &program).expect("found");
        assert_eq!(found, target.join("image-build"));
        fs::remove_dir_all(root).expect("removed");
    }
}
