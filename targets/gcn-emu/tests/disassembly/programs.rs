//! Instructions of compiled programs: images that this project built, in the files and folders that
//! `GCN_PROGRAMS` names, separated by colons; and GCC's libraries for AMD GPUs, in the installation that
//! `REVOFF_GCC_ROOT` names. The jobs of CI that build or install them run these tests.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use gcn_emu::{Arch, Target};

use crate::compare::Comparison;
use crate::llvm;

/// The machine of AMD GPUs in the header of an ELF file.
const AMDGPU: u16 = 224;

/// Processors by their numbers in the flags of an ELF file.
const MACHINES: &[(u8, Arch)] = &[
    (0x2f, Arch::Gfx906),
    (0x30, Arch::Gfx908),
    (0x3f, Arch::Gfx90a),
    (0x41, Arch::Gfx1100),
    (0x4c, Arch::Gfx942),
    (0x4e, Arch::Gfx1201),
];

/// Libraries of GCC whose code is compared.
const LIBRARIES: &[&str] = &["libgomp.a", "libgcc.a", "libm.a"];
/// A library that takes a minute, so that it is compared only if `GCN_SWEEP` is set.
const LARGE_LIBRARY: &str = "libc.a";

/// The architecture of an ELF file for AMD GPUs; none for other files and architectures.
fn arch_of_elf(bytes: &[u8]) -> Option<Arch> {
    let header = bytes.get(..64)?;
    let machine = u16::from_le_bytes([header[18], header[19]]);
    if !header.starts_with(b"\x7fELF") || machine != AMDGPU {
        return None;
    }
    let found = MACHINES.iter().find(|(number, _)| *number == header[48]);
    found.map(|(_, arch)| *arch)
}

/// The architecture of the first member of an archive.
fn arch_of_archive(bytes: &[u8]) -> Option<Arch> {
    let mut archive = ar::Archive::new(bytes);
    while let Some(Ok(mut member)) = archive.next_entry() {
        let mut bytes = vec![];
        std::io::Read::read_to_end(&mut member, &mut bytes).ok()?;
        if let Some(arch) = arch_of_elf(&bytes) {
            return Some(arch);
        }
    }
    None
}

/// Files in a folder and its folders, or the file itself.
fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if let Ok(folder) = fs::read_dir(path) {
        for entry in folder.flatten() {
            files(&entry.path(), found);
        }
    } else if path.is_file() {
        found.push(path.to_owned());
    }
}

/// Compares the code of files, where it is for a known architecture.
fn compare(title: &str, files: &[PathBuf]) {
    let Some(objdump) = llvm::objdump() else {
        return;
    };
    let mut comparison = Comparison::default();
    let mut compared = 0;
    for file in files {
        let bytes = fs::read(file).expect("a readable file");
        let arch = arch_of_elf(&bytes).or_else(|| {
            let is_archive = bytes.starts_with(b"!<arch>\n");
            is_archive.then(|| arch_of_archive(&bytes)).flatten()
        });
        let Some(arch) = arch else {
            continue;
        };
        let (lines, finished) = llvm::list(&objdump, file, None);
        assert!(finished, "the disassembler failed on {}", file.display());
        for line in &lines {
            comparison.line(Target::new(arch), line, &line.words);
        }
        compared += 1;
    }
    assert!(compared > 0, "{title}: no files for AMD GPUs");
    comparison.check(&format!("{title}, {compared} files"));
}

#[test]
#[ignore = "needs GCN_PROGRAMS"]
fn images() {
    let mut found = vec![];
    let paths = env::var_os("GCN_PROGRAMS").expect("GCN_PROGRAMS names files and folders");
    for path in env::split_paths(&paths) {
        files(&path, &mut found);
    }
    found.sort();
    compare("images", &found);
}

#[test]
#[ignore = "needs REVOFF_GCC_ROOT"]
fn libraries_of_gcc() {
    let root =
        env::var_os("REVOFF_GCC_ROOT").expect("REVOFF_GCC_ROOT names an installation of GCC");
    let root = PathBuf::from(root);
    let mut found = vec![];
    files(&root.join("usr/lib/gcc"), &mut found);
    found.retain(|file| {
        let is_amd = file
            .components()
            .any(|part| part.as_os_str() == "amdgcn-amdhsa");
        let name = file.file_name().unwrap_or_default();
        let large = name == LARGE_LIBRARY && env::var_os("GCN_SWEEP").is_some();
        is_amd && (large || LIBRARIES.iter().any(|library| name == *library))
    });
    found.sort();
    compare("libraries of GCC", &found);
}
