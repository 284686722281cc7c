//! Executes the code objects of AMD GPUs on the CPU: GCN and CDNA (gfx906, gfx908, gfx90a, gfx942),
//! RDNA 3 (gfx1100) and RDNA 4 (gfx1201).
//!
//! A [`Machine`] launches kernels on the compute units, threads of this process. They execute a wave at
//! a time, in memory that an [`AddressSpace`] gives them.
//!
//! [`decode`] turns the words at an address into an [`Inst`]: its operation, its operands with
//! their sizes and modifiers. Its [`Display`](std::fmt::Display) is the text of LLVM's
//! disassembler, with which tests compare it. Invalid words are a [`DecodeError`], never a guess.
//!
//! Graphics instructions do not decode: images (MIMG, VIMAGE, VSAMPLE), exports, interpolation on
//! gfx9, and loads of parameters (LDSDIR). Others decode, but executing them is a fault that names
//! them, such as products of matrices: `docs/emulator.md`, "AMD instructions that are missing", lists
//! them.
//!
//! Sources, unless a file names another: AMD's "Instruction Set Architecture" manuals of each
//! generation, and LLVM's "User Guide for AMDGPU Backend".
//!
//! A module imports from modules below its own row alone:
//!
//! | module | job |
//! |---|---|
//! | `machine` | a GPU: launches on its compute units |
//! | `run` | running workgroups, waves and instructions |
//! | `memory` | memory as a GPU sees it |
//! | `descriptor` | kernel descriptors |
//! | `fault` | faults |
//! | `text` | the text of an instruction |
//! | `decode` | decoding, one file per group of encodings |
//! | `inst` | a decoded instruction |
//! | `alu` | arithmetic of vector instructions |
//! | `isa` | tables of operations |
//! | `weak` | options of weak memory mode |
//! | `error` | errors |
//! | `arch` | architectures |

mod alu;
mod arch;
mod decode;
mod descriptor;
mod error;
mod fault;
mod inst;
pub mod isa;
mod machine;
mod memory;
mod run;
mod text;
mod weak;

pub use self::arch::{Arch, Generation, Target, UnknownArch, WaveSize};
pub use self::decode::decode;
pub use self::descriptor::{DESCRIPTOR_BYTES, Descriptor};
pub use self::error::{DecodeError, DecodeErrorKind};
pub use self::fault::{CodeLocation, Fault, FaultKind, LaunchError};
pub use self::inst::{
    AluModifiers, BufferModifiers, CachePolicy, Dpp, DualHalf, Encoding, Half, Inst, LdsModifiers,
    MatrixModifiers, MemoryModifiers, Modifiers, Op, Operand, PackedModifiers, Register,
    ScalarMemoryModifiers, Sdwa, SdwaSelect, Segment, Value,
};
pub use self::machine::{CodeRegion, MAX_GROUP_BYTES, MAX_WORKGROUP, Machine, Options, Running};
pub use self::memory::{AccessKind, AddressSpace, GROUP_APERTURE, PRIVATE_APERTURE};
pub use self::run::{Dispatch, Trace};
pub use self::weak::{Ignored, Weak};
pub use emu_engine::OnEnd;
