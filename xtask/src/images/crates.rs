//! The crates to build, and their targets.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use targets::arch::{Arch, Target};

use super::pieces::Piece;

/// The default crates: device-rt, and each example.
const DEFAULT: [(&str, &[Family], Option<Piece>); 6] = [
    (
        "device-rt/linkable",
        &[Family::Nvptx, Family::Amdgcn],
        Some(Piece::Plain),
    ),
    // GCC's code for AMD has a different calling convention.
    (
        "device-rt/gcc",
        &[Family::Nvptx],
        Some(Piece::Archive("librevoff-gcc.a")),
    ),
    ("examples/digest/kernel", &Family::ALL, None),
    ("examples/heat/kernel", &Family::ALL, None),
    ("examples/python/kernel", &Family::ALL, None),
    ("examples/search/kernel", &Family::ALL, None),
];

/// The targets of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    Nvptx,
    Amdgcn,
    Host,
}

impl Family {
    const ALL: [Self; 3] = [Self::Nvptx, Self::Amdgcn, Self::Host];

    pub(crate) fn has(self, arch: &Arch) -> bool {
        match self {
            Self::Nvptx => arch.target == Target::Nvptx,
            Self::Amdgcn => arch.target == Target::Amdgcn,
            Self::Host => false,
        }
    }
}

/// A crate to be built.
#[derive(Debug)]
pub(crate) struct KernelCrate {
    /// Its folder.
    pub(crate) dir: PathBuf,
    /// How others link it, if they do.
    pub(crate) piece: Option<Piece>,
    families: &'static [Family],
    /// Whether it is one of this repository's, rather than one that a user named.
    pub(crate) is_ours: bool,
}

impl KernelCrate {
    /// Whether it is built for `arch`.
    pub(crate) fn is_for(&self, arch: &Arch) -> bool {
        self.families.iter().any(|family| family.has(arch))
    }

    /// Whether it is built for the `host` device.
    pub(crate) fn is_for_host(&self) -> bool {
        self.families.contains(&Family::Host)
    }
}

/// The crates in the folders `named`, or else the default ones.
pub(crate) fn chosen(root: &Path, named: &[PathBuf], pieces_alone: bool) -> Vec<KernelCrate> {
    if named.is_empty() {
        DEFAULT
            .iter()
            .filter(|(_, _, piece)| piece.is_some() || !pieces_alone)
            .map(|(dir, families, piece)| KernelCrate {
                dir: root.join(dir),
                piece: *piece,
                families,
                is_ours: true,
            })
            .collect()
    } else {
        named
            .iter()
            .map(|dir| KernelCrate {
                dir: dir.clone(),
                piece: None,
                families: &Family::ALL,
                is_ours: false,
            })
            .collect()
    }
}

/// Fails if two crates would write the same files.
pub(crate) fn refuse_one_name(crates: &[KernelCrate]) -> Result<()> {
    let mut seen: Vec<(String, &Path)> = vec![];
    for krate in crates {
        let name = revoff_build::file_name(&krate.dir)?;
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == name) {
            bail!(
                "{} and {} are both called {name}: build them into different folders (--out)",
                other.display(),
                krate.dir.display()
            );
        }
        seen.push((name, &krate.dir));
    }
    Ok(())
}
