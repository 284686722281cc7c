//! Guarantees for any bytes: files of strangers are errors, and never a panic, a hang, or memory out of proportion;
//! calls of the emulated drivers return a code, whatever their arguments, and leave others alone.
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
//! | `engines` | programs by all ways in which `ptx-emu` executes them |
//! | `cuda` | calls of the emulated CUDA driver |
//! | `hsa` | calls of the emulated ROCr, and packets in its queues |
//! | `target`, `input`, `objects`, `host_memory`, `panics` | what a target is, calls as bytes, what they have made or use, and faults that cannot reach it |

mod code_objects;
mod containers;
mod cuda;
mod engines;
mod execution;
mod host_memory;
mod hsa;
mod images;
mod input;
mod objects;
mod panics;
mod ptx;
mod target;

pub use self::input::Tally;
pub use self::target::Target;

/// All targets.
pub const TARGETS: [Target; 15] = [
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
    cuda::CALLS,
    hsa::CALLS,
    hsa::PACKETS,
    engines::ENGINES,
];

/// The target of a name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
