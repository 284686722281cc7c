//! device-rt as pieces that other compilers link into their images, with the headers for C.

use std::fs;
use std::path::{Path, PathBuf};

use targets::arch::Arch;

use crate::device::{self, Assemblers, DeviceImage, Toolchain};
use crate::error::{BuildError, io_at};
use crate::host::host_library;
use crate::program::cache;
use crate::sources::{installed, sources};

/// The headers for C.
const HEADERS: [&str; 5] = [
    "shared-abi/include/revoff.h",
    "shared-abi/include/revoff_abi.h",
    "shared-abi/include/revoff_openmp.h",
    "shared-abi/include/revoff_rpc.h",
    "mpi/include/revoff_mpi.h",
];

/// The crate of the pieces.
const CRATE: &str = "device-rt/linkable";

/// The folder with the pieces in an installed package.
const PACKAGED: &str = "lib/revoff/pieces";

/// The folder with the headers, in `include`, the piece for `host`, and those for GPUs, each in a folder of its
/// architecture's name. They are built where that is not done yet, unless an installed package has them.
///
/// # Errors
/// They cannot be built.
pub fn pieces(arches: &[&'static Arch]) -> Result<PathBuf, BuildError> {
    let packaged = installed().map(|prefix| prefix.join(PACKAGED));
    let has_all = |folder: &PathBuf| arches.iter().all(|arch| folder.join(arch.name).is_dir());
    if let Some(folder) = packaged.filter(has_all) {
        return Ok(folder);
    }
    let sources = sources()?;
    let folder = cache()?.join("pieces");
    put_headers(&sources, &folder)?;
    put_for_host(&sources, &folder)?;
    if !arches.is_empty() {
        let toolchain = Toolchain::find(arches)?;
        let (assemblers, dir) = (Assemblers::find()?, sources.join(CRATE));
        let built = cache()?.join("images");
        for &arch in arches {
            let image = device::build(&toolchain, &assemblers, &dir, arch, &built.join(arch.name))?;
            put(&image, &folder)?;
        }
    }
    Ok(folder)
}

/// Copies the headers to the folder with pieces.
///
/// # Errors
/// A file cannot be read or written.
pub fn put_headers(sources: &Path, pieces: &Path) -> Result<(), BuildError> {
    let include = pieces.join("include");
    fs::create_dir_all(&include).map_err(io_at(&include))?;
    for header in HEADERS {
        copy(&sources.join(header), &include)?;
    }
    Ok(())
}

/// Builds the piece for `host` into the folder with pieces.
///
/// # Errors
/// It does not build.
pub fn put_for_host(sources: &Path, pieces: &Path) -> Result<(), BuildError> {
    host_library(&sources.join(CRATE), &pieces.join("host")).map(drop)
}

/// Copies the linkable files of an image to the folder with pieces.
///
/// # Errors
/// A file cannot be read or written.
pub fn put(image: &DeviceImage, pieces: &Path) -> Result<(), BuildError> {
    let folder = pieces.join(image.arch.name);
    fs::create_dir_all(&folder).map_err(io_at(&folder))?;
    let files = image.ptx.iter().chain([&image.bitcode]);
    files.into_iter().try_for_each(|file| copy(file, &folder))
}

/// Copies a file to a folder.
fn copy(file: &Path, folder: &Path) -> Result<(), BuildError> {
    let to = folder.join(file.file_name().unwrap_or_default());
    fs::copy(file, to).map(drop).map_err(io_at(file))
}
