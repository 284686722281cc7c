//! device-rt as pieces that other compilers link into their images, with the headers for C.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use targets::arch::Arch;

use crate::device::{self, Assemblers, DeviceImage, Toolchain};
use crate::error::{BuildError, io_at};
use crate::host::host_library;
use crate::package;
use crate::program::cache;
use crate::replace;
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

/// The folder with the headers, in `include`, the piece for `host`, and those for GPUs, each in a folder of its
/// architecture's name. They are built where that is not done yet, unless an installed package has them. Other processes
/// that ask for pieces wait.
///
/// # Errors
/// They cannot be built.
pub fn pieces(arches: &[&'static Arch]) -> Result<PathBuf, BuildError> {
    let packaged = installed().map(|prefix| prefix.join(package::PIECES));
    let parts = ["include/revoff.h", "host/librevoff_piece.a"].into_iter();
    let mut parts = parts.chain(arches.iter().map(|arch| arch.name));
    if let Some(folder) = packaged
        && parts.all(|part| folder.join(part).exists())
    {
        return Ok(folder);
    }
    let (sources, cache) = (sources()?, cache()?);
    let (folder, built) = (cache.join("pieces"), cache.join("images"));
    fs::create_dir_all(&built).map_err(io_at(&built))?;
    let path = built.join("lock");
    let lock = File::create(&path).map_err(io_at(&path))?;
    lock.lock().map_err(io_at(&path))?;

    put_headers(&sources, &folder)?;
    let dir = sources.join(CRATE);
    copy(&host_library(&dir, &built)?, &folder.join("host"))?;
    if !arches.is_empty() {
        let (toolchain, assemblers) = (Toolchain::find(arches)?, Assemblers::find()?);
        for &arch in arches {
            put(
                &device::build(&toolchain, &assemblers, &dir, arch, &built)?,
                &folder,
            )?;
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
    HEADERS
        .iter()
        .try_for_each(|header| copy(&sources.join(header), &include))
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
    let files = image.ptx.iter().chain([&image.bitcode]);
    files.into_iter().try_for_each(|file| copy(file, &folder))
}

/// Copies a file to a folder, unless its content is there. A compiler may be reading the folder.
fn copy(file: &Path, folder: &Path) -> Result<(), BuildError> {
    let name = file.file_name().unwrap_or_default();
    let content = fs::read(file).map_err(io_at(file))?;
    fs::create_dir_all(folder).map_err(io_at(folder))?;
    replace::write(&folder.join(name), &content)
}
