//! The emulated driver of NVIDIA's GPUs as a library, for programs that are not ours.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device::clean;
use crate::error::{BuildError, io_at};
use crate::messages;
use crate::program::cache;

/// The sources of the library.
const SOURCES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../targets/cuda-emu/libcuda/Cargo.toml"
);

/// What cargo calls the library, and the names that programs look for.
const BUILT: &str = "libcuda_emulated.so";
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// Builds `libcuda.so.1`, where that is not done yet, and returns the folder that has nothing else.
///
/// # Errors
/// It cannot be built, or the folder cannot be written.
pub fn emulated_driver() -> Result<PathBuf, BuildError> {
    let target = cache()?.join("emulated");
    if !target.exists() {
        messages::note("Building the emulated driver, which is kept");
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    clean(&mut command);
    command
        .args([
            "build",
            "--release",
            "--quiet",
            "--locked",
            "--manifest-path",
            SOURCES,
        ])
        .arg("--target-dir")
        .arg(&target);
    let status = command.status().map_err(io_at(Path::new("cargo")))?;
    if !status.success() {
        return Err(BuildError::Request(format!(
            "the emulated driver was not built (from {SOURCES}): cargo has said why"
        )));
    }
    let folder = target.join("lib");
    fs::create_dir_all(&folder).map_err(io_at(&folder))?;
    for name in NAMES {
        // In one step: other processes may use it.
        let new = folder.join(format!("{name}.{}", std::process::id()));
        let path = folder.join(name);
        let linked = symlink(target.join("release").join(BUILT), &new);
        linked
            .and_then(|()| fs::rename(&new, &path))
            .map_err(io_at(&path))?;
    }
    Ok(folder)
}
