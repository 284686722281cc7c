//! Shared objects that programs load by the names of others' libraries: the emulated drivers, and plugins.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::error::{BuildError, io_at};
use crate::replace::replace;
use crate::version_script::{STAYS_LOADED, link_with_versions};

/// A library.
pub struct Library {
    /// The package that builds it.
    pub package: &'static str,
    /// The name of Cargo's file. If symbols have versions, it is a static library.
    pub built: &'static str,
    /// The name under which programs load it.
    pub loaded: &'static str,
    /// The version script of its symbols, among the sources, and more options for `cc`.
    pub versions: Option<(&'static str, &'static [&'static str])>,
    /// The names that linkers look for. That of a static library is the shared object, too.
    pub linked: &'static [&'static str],
}

/// The emulated drivers of GPUs, and CUDA's runtime.
pub const EMULATED_DRIVERS: [Library; 3] = [
    Library {
        package: "libcuda",
        built: "libcuda_emulated.so",
        loaded: "libcuda.so.1",
        versions: None,
        linked: &["libcuda.so"],
    },
    Library {
        package: "libcudart",
        built: "libcudart_emulated.a",
        loaded: "libcudart.so.12",
        versions: Some(("targets/cuda-emu/libcudart/versions.map", &[])),
        linked: &["libcudart.so", "libcudart_static.a"],
    },
    Library {
        package: "libhsa",
        built: "libhsa_emulated.a",
        loaded: "libhsa-runtime64.so.1",
        versions: Some(("targets/hsa-emu/libhsa/versions.map", &[STAYS_LOADED])),
        linked: &["libhsa-runtime64.so"],
    },
];

impl Library {
    /// Puts it into a folder, from Cargo's file and the sources of this project. Each file is replaced in one step:
    /// programs may run with the old one.
    ///
    /// # Errors
    /// It cannot be linked, or the folder cannot be written.
    pub fn put(&self, built: &Path, sources: &Path, folder: &Path) -> Result<(), BuildError> {
        fs::create_dir_all(folder).map_err(io_at(folder))?;
        for name in self.linked {
            replace(&folder.join(name), |new| Ok(symlink(self.loaded, new)))?;
        }
        replace(&folder.join(self.loaded), |new| match self.versions {
            Some((script, options)) => {
                let script = sources.join(script);
                link_with_versions(built, &script, self.loaded, options, new).map(Ok)
            }
            None => Ok(fs::copy(built, new).map(drop)),
        })
    }
}
