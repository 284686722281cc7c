//! PTX that others link into their images.

use std::fs;
use std::path::Path;

use targets::arch;

use crate::device::Toolchain;
use crate::error::{BuildError, io_at};
use crate::file::{build_watched, watch_toolchain};
use crate::script::{Artifact, SKIP, emit, out_dir, skipped};

/// Builds PTX of the crate in the folder `dir`, relative to the calling crate, for each of
/// `arches`. The crate has no kernels and is linked into others' images.
///
/// If no compiler on this machine builds for GPUs, the files are empty and cargo shows a warning,
/// for programs in which the PTX is optional.
///
/// # Panics
/// A build fails; cargo's messages precede the panic.
pub fn ptx<const N: usize>(dir: impl AsRef<Path>, arches: [&str; N]) -> [Artifact; N] {
    watch_toolchain();
    let paths = arches.map(|arch| out_dir().join(format!("{arch}.ptx")));
    // Each file is created empty.
    let is_skipped = paths.each_ref().map(|path| skipped(path)).contains(&true);
    if !is_skipped {
        build_to(dir.as_ref(), arches, paths.each_ref().map(AsRef::as_ref))
            .unwrap_or_else(|error| panic!("{error}\n(or set {SKIP}=1 to build without images)"));
    }
    paths.map(Artifact::at)
}

fn build_to<const N: usize>(
    dir: &Path,
    arches: [&str; N],
    paths: [&Path; N],
) -> Result<(), BuildError> {
    let arches = arches
        .into_iter()
        .map(arch::find)
        .collect::<Result<Vec<_>, _>>()?;
    let toolchain = match Toolchain::find(&arches) {
        Ok(toolchain) => toolchain,
        Err(why @ BuildError::NoToolchain { .. }) => {
            for line in format!("{} is not built: {why}", dir.display()).lines() {
                emit(&format!("warning={line}"));
            }
            return paths
                .into_iter()
                .try_for_each(|path| fs::write(path, []).map_err(io_at(path)));
        }
        Err(error) => return Err(error),
    };
    let images = build_watched(&toolchain, dir, &arches)?;
    for (image, path) in images.iter().zip(paths) {
        let ptx = image
            .ptx
            .as_deref()
            .ok_or_else(|| BuildError::Request(format!("{} has no PTX", image.arch.name)))?;
        fs::copy(ptx, path).map_err(io_at(ptx))?;
    }
    Ok(())
}
