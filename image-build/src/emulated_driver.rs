//! The emulated drivers of GPUs as libraries, and CUDA's runtime, for programs that are not ours.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device::clean;
use crate::error::{BuildError, io_at};
use crate::library::EMULATED_DRIVERS;
use crate::messages;
use crate::package;
use crate::program::cache;
use crate::sources::{installed, sources};

/// The variable that names a folder with the libraries, which are then not built.
const FOLDER: &str = "REVOFF_EMULATED_DRIVER";

/// Variables on which the build of a dependency depends, though its result does not: without them,
/// programs with and without these variables share one driver.
const CUDA_VARIABLES: [&str; 6] = [
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "CUDNN_LIB",
    "CUDARC_CUDA_VERSION",
];

/// Builds `libcuda.so.1`, `libcudart.so.12` and `libhsa-runtime64.so.1`, where that is not done yet, and returns the
/// folder that has nothing else. An installed package has them; the environment may name another folder.
///
/// # Errors
/// They cannot be built, or the folder cannot be written.
pub fn emulated_driver() -> Result<PathBuf, BuildError> {
    if let Some(folder) = env::var_os(FOLDER).filter(|folder| !folder.is_empty()) {
        let folder = PathBuf::from(folder);
        return match missing(&folder) {
            None => Ok(folder),
            Some(name) => Err(BuildError::Request(format!(
                "{FOLDER}={}: no {name} there",
                folder.display()
            ))),
        };
    }
    let packaged = installed().map(|prefix| prefix.join(package::EMULATED));
    if let Some(folder) = packaged
        && missing(&folder).is_none()
    {
        return Ok(folder);
    }
    let sources = sources()?;
    let target = cache()?.join("emulated");
    if !target.exists() {
        messages::note("Building the emulated drivers, which are kept");
    }
    fs::create_dir_all(&target).map_err(io_at(&target))?;
    // Other processes that build them wait.
    let path = target.join("lock");
    let lock = File::create(&path).map_err(io_at(&path))?;
    lock.lock().map_err(io_at(&path))?;
    build(&sources, &target)?;
    let release = target.join("release");
    let folder = target.join("lib");
    for library in &EMULATED_DRIVERS {
        let mut from = vec![release.join(library.built)];
        from.extend(library.versions.map(|(script, _)| sources.join(script)));
        if !is_up_to_date(&folder.join(library.loaded), &from)? {
            library.put(&from[0], &sources, &folder)?;
        }
    }
    Ok(folder)
}

/// The name of a driver that a folder has not.
fn missing(folder: &Path) -> Option<&'static str> {
    let mut names = EMULATED_DRIVERS.iter().map(|library| library.loaded);
    names.find(|name| !folder.join(name).exists())
}

fn build(sources: &Path, target: &Path) -> Result<(), BuildError> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    clean(&mut command);
    for name in CUDA_VARIABLES {
        command.env_remove(name);
    }
    command.args(["build", "--release", "--quiet", "--locked"]);
    let manifest = sources.join("Cargo.toml");
    command.arg("--manifest-path").arg(&manifest);
    for library in &EMULATED_DRIVERS {
        command.args(["--package", library.package]);
    }
    command.arg("--target-dir").arg(target);
    let status = command.status().map_err(io_at(Path::new("cargo")))?;
    if !status.success() {
        return Err(BuildError::Request(format!(
            "the emulated drivers were not built (from {}): cargo has said why",
            manifest.display()
        )));
    }
    Ok(())
}

/// Whether a file exists and is at least as new as all of its sources.
fn is_up_to_date(made: &Path, sources: &[PathBuf]) -> Result<bool, BuildError> {
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let Ok(made) = modified(made) else {
        return Ok(false);
    };
    for source in sources {
        if modified(source).map_err(io_at(source))? > made {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_library_is_as_new_as_each_of_its_sources() {
        let folder = env::temp_dir().join(format!("revoff-newer-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [made, one, other] = ["made", "one", "other"].map(|name| folder.join(name));
        let start = SystemTime::now();
        let modify = |path: &Path, seconds| {
            let file = File::create(path).unwrap();
            file.set_modified(start + Duration::from_secs(seconds))
                .unwrap();
        };
        let is_up_to_date = || is_up_to_date(&made, &[one.clone(), other.clone()]);
        modify(&one, 1);
        assert!(!is_up_to_date().unwrap(), "there is none");
        modify(&made, 2);
        assert!(is_up_to_date().is_err(), "a source is missing");
        modify(&other, 2);
        assert!(is_up_to_date().unwrap());
        modify(&other, 3);
        assert!(!is_up_to_date().unwrap(), "the second source is newer");
        fs::remove_dir_all(&folder).unwrap();
    }
}
