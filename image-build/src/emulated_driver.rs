//! The emulated drivers of GPUs as libraries, and CUDA's runtime, for programs that are not ours.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device::clean;
use crate::error::{BuildError, io_at};
use crate::messages;
use crate::program::cache;
use crate::sources::{installed, sources};
use crate::version_script::{STAYS_LOADED, link_with_versions};

/// The packages of the libraries.
const PACKAGES: [&str; 3] = ["libcuda", "libcudart", "libhsa"];

/// The variable that names a folder with the libraries, which are then not built.
const FOLDER: &str = "REVOFF_EMULATED_DRIVER";

/// The folder with them in an installed package.
const PACKAGED: &str = "lib/revoff/emulated";

/// Cargo's name of the driver.
const DRIVER: &str = "libcuda_emulated.so";
/// Cargo's name of the runtime.
const RUNTIME: &str = "libcudart_emulated.a";

/// The runtime as a shared object.
const SHARED: &str = "libcudart.so.12";

/// AMD's driver as a shared object.
const ROCR: &str = "libhsa-runtime64.so.1";

/// A shared object whose symbols have versions.
struct Linked {
    name: &'static str,
    /// The static library that it is linked from.
    archive: &'static str,
    /// The versions of its symbols, among the sources.
    versions: &'static str,
    options: &'static [&'static str],
}

const LINKED: [Linked; 2] = [
    Linked {
        name: SHARED,
        archive: RUNTIME,
        versions: "targets/cuda-emu/libcudart/versions.map",
        options: &[],
    },
    Linked {
        name: ROCR,
        archive: "libhsa_emulated.a",
        versions: "targets/hsa-emu/libhsa/versions.map",
        options: &[STAYS_LOADED],
    },
];

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

/// The names of the drivers that programs load.
const LOADED: [&str; 2] = ["libcuda.so.1", ROCR];

/// The names that programs and linkers look for, and the files that they name.
const NAMES: [(&str, &str); 7] = [
    (LOADED[0], DRIVER),
    ("libcuda.so", DRIVER),
    (SHARED, SHARED),
    ("libcudart.so", SHARED),
    ("libcudart_static.a", RUNTIME),
    (ROCR, ROCR),
    ("libhsa-runtime64.so", ROCR),
];

/// Builds `libcuda.so.1`, `libcudart.so.12` and `libhsa-runtime64.so.1`, where that is not done yet, and returns the
/// folder that has nothing else. An installed package has them; the environment may name another folder.
///
/// # Errors
/// They cannot be built, or the folder cannot be written.
pub fn emulated_driver() -> Result<PathBuf, BuildError> {
    if let Some(folder) = env::var_os(FOLDER).filter(|folder| !folder.is_empty()) {
        let folder = PathBuf::from(folder);
        let missing = LOADED.iter().find(|&name| !folder.join(name).exists());
        return match missing {
            None => Ok(folder),
            Some(name) => Err(BuildError::Request(format!(
                "{FOLDER}={}: no {name} there",
                folder.display()
            ))),
        };
    }
    let packaged = installed().map(|prefix| prefix.join(PACKAGED));
    if let Some(folder) = packaged
        && LOADED.iter().all(|name| folder.join(name).exists())
    {
        return Ok(folder);
    }
    let sources = sources()?;
    let target = cache()?.join("emulated");
    if !target.exists() {
        messages::note("Building the emulated drivers, which are kept");
    }
    build(&sources, &target)?;
    let release = target.join("release");
    for object in &LINKED {
        object.link(&sources, &release)?;
    }
    let folder = target.join("lib");
    fs::create_dir_all(&folder).map_err(io_at(&folder))?;
    for (name, file) in NAMES {
        // In one step: other processes may use it.
        let new = folder.join(format!("{name}.{}", std::process::id()));
        let path = folder.join(name);
        let linked = symlink(release.join(file), &new);
        linked
            .and_then(|()| fs::rename(&new, &path))
            .map_err(io_at(&path))?;
    }
    Ok(folder)
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
    for package in PACKAGES {
        command.args(["--package", package]);
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

impl Linked {
    /// Links it, unless that was done after its library was built.
    fn link(&self, sources: &Path, release: &Path) -> Result<(), BuildError> {
        let (library, shared) = (release.join(self.archive), release.join(self.name));
        let versions = sources.join(self.versions);
        if is_up_to_date(&shared, &[&library, &versions])? {
            return Ok(());
        }
        let new = release.join(format!("{}.{}", self.name, std::process::id()));
        link_with_versions(&library, &versions, self.name, self.options, &new)?;
        fs::rename(&new, &shared).map_err(io_at(&shared))
    }
}

/// Whether a file exists and is at least as new as all of its sources.
fn is_up_to_date(made: &Path, sources: &[&Path]) -> Result<bool, BuildError> {
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let Ok(made) = modified(made) else {
        return Ok(false);
    };
    for &source in sources {
        if modified(source).map_err(io_at(source))? > made {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
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
        let is_up_to_date = || is_up_to_date(&made, &[&one, &other]);
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
