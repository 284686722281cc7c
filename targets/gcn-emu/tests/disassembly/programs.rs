//! Instructions of compiled programs: images that this project built, and GCC's libraries for AMD
//! GPUs. `GCN_PROGRAMS` names further files and folders, separated by colons.

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

fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    )
}

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
    if compared == 0 {
        println!("SKIPPED {title}: no files for AMD GPUs, see ci/images and ci/gcc-root");
        return;
    }
    comparison.check(&format!("{title}, {compared} files"));
}

#[test]
fn images() {
    let mut found = vec![];
    for folder in ["images", "tmp/images"] {
        files(&target_folder().join(folder), &mut found);
    }
    for path in env::split_paths(&env::var_os("GCN_PROGRAMS").unwrap_or_default()) {
        files(&path, &mut found);
    }
    found.sort();
    compare("images", &found);
}

#[test]
fn libraries_of_gcc() {
    let root = env::var_os("REVOFF_GCC_ROOT").map(PathBuf::from);
    let root = root.unwrap_or_else(|| target_folder().join("ci/gcc-root"));
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
