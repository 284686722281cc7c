//! What must hold for any bytes: files of strangers are errors, and never a panic, a hang, or memory out of proportion.
//!
//! Each target is a function of bytes, which a fuzzer ([libfuzzer](../libfuzzer)) or a test on stable Rust calls with
//! mutations of its seeds.
//!
//! | file | targets |
//! |---|---|
//! | `images` | images and files of several images, as `revoff-host` reads them |
//! | `containers` | fatbins and offload binaries |
//! | `code_objects` | code objects, as the loader and `revoff inspect` read them; instructions of AMD GPUs |
//! | `execution` | kernels on the emulators |
//! | `ptx` | PTX: its statements, its cutting for programs by GCC, and the emulator's parser |

mod code_objects;
mod containers;
mod execution;
mod images;
mod ptx;

/// A function of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Panics if what must hold does not.
    pub run: fn(&[u8]),
    /// Bytes to mutate.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Whether they are read: seeds that are not would only test the first check.
    pub is_valid: fn(&[u8]) -> bool,
}

/// All targets.
pub const TARGETS: [Target; 11] = [
    images::IMAGE,
    containers::FATBIN,
    containers::OFFLOAD_BINARY,
    code_objects::METADATA,
    code_objects::PROGRAM,
    code_objects::INSTRUCTIONS,
    ptx::STATEMENTS,
    ptx::CUT,
    ptx::TEXT,
    execution::PTX,
    execution::GCN,
];

/// The target of a name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
