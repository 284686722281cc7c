//! Pieces that others link into their own images, in `pieces/include` and `pieces/ARCH`.
//! See docs/linking.md.

use std::fs::{self, File};
use std::iter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ar::{GnuBuilder, Header};
use revoff_build::device::DeviceImage;
use targets::gcc::archive::Member;

/// How a crate without kernels is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Directly: as bitcode and, for NVIDIA, PTX. There are no object files for AMD: a kernel
    /// states how many registers it and its callees use, and no linker corrects that.
    Plain,
    /// An archive of this name with the PTX, which GCC's linker reads, and with the rest of
    /// libgomp's member if requested.
    Archive(&'static str),
}

/// The folder for the pieces.
pub(crate) fn folder(out: &Path) -> PathBuf {
    out.join("pieces")
}

impl Piece {
    /// Puts the linkable files of `image` into `pieces`.
    pub(crate) fn put(
        self,
        image: &DeviceImage,
        pieces: &Path,
        libgomp: Option<&Member<String>>,
    ) -> Result<()> {
        match self {
            Self::Plain => Ok(revoff_build::pieces::put(image, pieces)?),
            Self::Archive(name) => {
                let ptx = image
                    .ptx
                    .as_deref()
                    .with_context(|| format!("{name} is PTX, which {} has not", image.arch.name))?;
                let folder = pieces.join(image.arch.name);
                fs::create_dir_all(&folder)
                    .with_context(|| format!("cannot make {}", folder.display()))?;
                archive(ptx, libgomp, &folder.join(name))
            }
        }
    }
}

/// Writes the archive `to` with the file `ptx` and `libgomp` in it. It has no table of
/// symbols: nvptx-tools look into the members.
fn archive(ptx: &Path, libgomp: Option<&Member<String>>, to: &Path) -> Result<()> {
    let write = || {
        let name = ptx.file_name().unwrap_or_default();
        let name = name.as_encoded_bytes().to_vec();
        let part = fs::read_to_string(ptx)?;
        let ours = Member { name, part };
        let members = || iter::once(&ours).chain(libgomp);
        let names = members().map(|member| member.name.clone()).collect();
        let mut builder = GnuBuilder::new(File::create(to)?, names);
        members().try_for_each(|member| {
            let mut header = Header::new(member.name.clone(), member.part.len() as u64);
            header.set_mode(0o644);
            builder.append(&header, member.part.as_bytes())
        })
    };
    write().with_context(|| format!("cannot put {} into {}", ptx.display(), to.display()))
}
