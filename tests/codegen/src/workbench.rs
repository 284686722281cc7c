//! Builds crates, each once per architecture.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use revoff_build::device::{self, Assemblers, DeviceImage, Toolchain};
use targets::arch::Arch;

use crate::listing::{Function, functions};

/// A built crate.
#[derive(Debug)]
pub struct Built {
    /// The build's result.
    pub image: DeviceImage,
    /// The file with the compiler's assembly.
    pub assembly: PathBuf,
    /// Its functions.
    pub functions: Vec<Function>,
}

/// Builds crates. `core` is built once: all crates share a folder.
#[derive(Debug)]
pub struct Workbench {
    toolchain: Toolchain,
    assemblers: Assemblers,
    root: PathBuf,
    work: PathBuf,
    arches: HashMap<&'static str, Mutex<OfArch>>,
}

/// Crates by their folders; an error is kept too, it would come again.
type OfArch = HashMap<&'static str, Result<Arc<Built>, String>>;

impl Workbench {
    /// One for crates of the workspace at `root` and `arches`; images go to `work`.
    #[must_use]
    pub fn new(
        toolchain: Toolchain,
        assemblers: Assemblers,
        root: &Path,
        work: &Path,
        arches: &[&'static Arch],
    ) -> Self {
        Self {
            toolchain,
            assemblers,
            root: root.to_owned(),
            work: work.to_owned(),
            arches: arches
                .iter()
                .map(|arch| (arch.name, Mutex::default()))
                .collect(),
        }
    }

    /// The compiler.
    #[must_use]
    pub fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// The crate in the folder `dir`, built for `arch`.
    ///
    /// # Errors
    /// It does not build, or what came out cannot be read.
    pub fn built(&self, dir: &'static str, arch: &'static Arch) -> Result<Arc<Built>, String> {
        // Held for the whole build: cargo would wait for the folder anyway.
        let mut of_arch = self.of(arch)?;
        of_arch
            .entry(dir)
            .or_insert_with(|| self.build(dir, arch).map(Arc::new))
            .clone()
    }

    fn of(&self, arch: &Arch) -> Result<MutexGuard<'_, OfArch>, String> {
        let found = self.arches.get(arch.name);
        let mutex = found.ok_or_else(|| format!("not set up for {}", arch.name))?;
        Ok(mutex.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn build(&self, dir: &str, arch: &'static Arch) -> Result<Built, String> {
        let image = device::build_with_assembly(
            &self.toolchain,
            &self.assemblers,
            &self.root.join(dir),
            arch,
            &self.work.join("images").join(arch.name),
        )
        .map_err(|error| error.to_string())?;
        let assembly = image.assembly.clone().ok_or("an image without assembly")?;
        let text = fs::read_to_string(&assembly)
            .map_err(|error| format!("{}: {error}", assembly.display()))?;
        Ok(Built {
            functions: functions(arch.target, &text),
            assembly,
            image,
        })
    }
}
