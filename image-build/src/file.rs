//! One file with images for several architectures.

use std::fs;
use std::path::{Path, PathBuf};

use targets::DeviceArch;
use targets::arch::{self, Arch, Target};
use targets::offload_binary::{self, Entry, ImageKind, OffloadKind};

use crate::device::{self, Assemblers, DeviceImage, Toolchain};
use crate::error::{BuildError, io_at};
use crate::host;
use crate::script::{Artifact, SKIP, emit, manifest_dir, out_dir, skipped};

/// Images of a kernel crate for several architectures, for a build script.
#[derive(Clone, Debug)]
#[must_use]
pub struct Images {
    dir: PathBuf,
    arches: Vec<String>,
    host: bool,
}

/// Starts a build of the kernel crate in the folder `dir`, which is relative to the calling crate.
/// Choose targets with [`Images::arch`] and the other methods.
pub fn images(dir: impl AsRef<Path>) -> Images {
    Images {
        dir: dir.as_ref().to_owned(),
        arches: vec![],
        host: false,
    }
}

impl Images {
    /// Adds the architecture `name`, one of [`targets::arch::ARCHES`].
    pub fn arch(mut self, name: &str) -> Self {
        self.arches.push(name.to_owned());
        self
    }

    /// Adds the `host` device.
    pub fn host(mut self) -> Self {
        self.host = true;
        self
    }

    /// Builds all images into one file in LLVM's offload-binary format, from which the host picks
    /// an image for its device.
    ///
    /// # Panics
    /// A build fails; cargo's messages precede the panic.
    pub fn build(self) -> Artifact {
        // A hash of the whole path, since kernel crates in several folders may all be called
        // `kernel`.
        let name = self.dir.to_string_lossy().replace('/', "-");
        let path = out_dir().join(format!("{name}.offload"));
        watch_toolchain();
        if !skipped(&path) {
            self.build_to(&path).unwrap_or_else(|error| {
                panic!("{error}\n(or set {SKIP}=1 to build without images)")
            });
        }
        Artifact::at(path)
    }

    fn build_to(&self, path: &Path) -> Result<(), BuildError> {
        let arches = self
            .arches
            .iter()
            .map(|name| arch::find(name))
            .collect::<Result<Vec<_>, _>>()?;
        let host = self.host.then(|| host::kernel_crate(&self.dir));
        let built = if arches.is_empty() {
            vec![]
        } else {
            build_watched(&Toolchain::find(&arches)?, &self.dir, &arches)?
        };
        write_file(path, &built, host.as_ref().map(Artifact::path))
    }
}

/// Makes cargo rerun the build script when the user names other tools.
pub(crate) fn watch_toolchain() {
    for variable in [crate::RUSTC, device::PTXAS, crate::WORK] {
        emit(&format!("rerun-if-env-changed={variable}"));
    }
}

/// Builds the crate in the folder `dir`, relative to the build script's crate, for each of
/// `arches`, and makes cargo rerun the script when a source changes.
pub(crate) fn build_watched(
    toolchain: &Toolchain,
    dir: &Path,
    arches: &[&'static Arch],
) -> Result<Vec<DeviceImage>, BuildError> {
    let assemblers = Assemblers::find()?;
    let dir = manifest_dir().join(dir);
    emit(&format!(
        "rerun-if-changed={}",
        dir.join("Cargo.toml").display()
    ));
    let out = out_dir().join("gpu-images");
    let build = |arch: &&'static Arch| {
        let out = out.join(arch.name);
        let image = device::build(toolchain, &assemblers, &dir, arch, &out)?;
        for source in &image.sources {
            emit(&format!("rerun-if-changed={}", source.display()));
        }
        Ok(image)
    };
    arches.iter().map(build).collect()
}

/// Writes one file with `images` and the shared object `host` to `path`.
///
/// # Errors
/// There are no images, or a file cannot be read or written.
pub fn write_file(
    path: &Path,
    images: &[DeviceImage],
    host: Option<&Path>,
) -> Result<(), BuildError> {
    let read = |path: &Path| fs::read(path).map_err(io_at(path));
    let mut parts = vec![];
    for image in images {
        // A device cannot load an image without kernels.
        for (kind, file) in [
            (ImageKind::PTX, &image.ptx),
            (ImageKind::CUBIN, &image.loadable_cubin()),
            (ImageKind::OBJECT, &image.code_object),
        ] {
            if let Some(file) = file {
                parts.push((kind, ImageDevice::Gpu(image.arch), read(file)?));
            }
        }
    }
    if let Some(host) = host {
        parts.push((ImageKind::OBJECT, ImageDevice::Host, read(host)?));
    }
    if parts.is_empty() {
        return Err(BuildError::Request(format!(
            "nothing to write to {}: name an architecture, one of {}, or the host",
            path.display(),
            arch::names()
        )));
    }
    let this_machine = DeviceArch::this_machine().to_string();
    let entries: Vec<_> = parts
        .iter()
        .map(|(image_kind, of, image)| Entry {
            image_kind: *image_kind,
            offload_kind: of.offload_kind(),
            triple: match of {
                ImageDevice::Gpu(arch) => arch.target.offload_triple(),
                ImageDevice::Host => &this_machine,
            },
            arch: match of {
                ImageDevice::Gpu(arch) => arch.name,
                ImageDevice::Host => "",
            },
            image,
        })
        .collect();
    fs::write(path, offload_binary::write(&entries)).map_err(io_at(path))
}

/// The device of a part of a file.
enum ImageDevice {
    Gpu(&'static Arch),
    Host,
}

impl ImageDevice {
    /// The runtime that loads such images, as LLVM's tools show it.
    fn offload_kind(&self) -> OffloadKind {
        match self {
            Self::Gpu(arch) if arch.target == Target::Nvptx => OffloadKind::CUDA,
            Self::Gpu(_) => OffloadKind::HIP,
            Self::Host => OffloadKind::NONE,
        }
    }
}
