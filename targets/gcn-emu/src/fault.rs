//! Faults of kernels, and launches that are not possible.

use std::fmt;

use crate::error::DecodeError;

/// A launch that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The sizes of grid, workgroup or memory.
    #[error("{0}")]
    Bounds(String),
    /// The descriptor is not in memory that the GPU can read.
    #[error("kernel object {0:#x} is not in memory of the GPU")]
    Descriptor(u64),
    /// The system has no threads.
    #[error("no threads to run it on: {0}")]
    Threads(String),
}

/// A fault of a wave, which ends the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kernel's name.
    pub kernel: String,
    /// The place of the workgroup in the grid.
    pub workgroup: [u32; 3],
    /// The place of the lane in the workgroup.
    pub lane: [u32; 3],
    /// The instruction.
    pub at: CodeLocation,
    /// The kind of fault.
    pub kind: FaultKind,
}

/// An instruction of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLocation {
    /// Its address.
    pub address: u64,
    /// The function that contains it, and its distance from the begin.
    pub function: Option<(String, u64)>,
    /// Its text; none if it is no instruction.
    pub text: Option<String>,
}

impl fmt::Display for CodeLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some((name, offset)) => write!(f, "{name}+{offset:#x}")?,
            None => write!(f, "{:#x}", self.address)?,
        }
        match &self.text {
            Some(text) => write!(f, ": `{text}`"),
            None => Ok(()),
        }
    }
}

/// The kind of a fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to memory that is not allocated or not accessible.
    #[error("{access} of {bytes} bytes at {address:#x}, which is {what}")]
    Unreachable {
        /// Load, store or atomic operation.
        access: &'static str,
        /// The address; in LDS and private memory, the offset.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
        /// Whether it is to LDS or private memory.
        is_of_kernel: bool,
        /// A description of the address.
        what: String,
    },
    /// An access to an address that is not aligned as the instruction requires.
    #[error("{access} of {bytes} bytes at {address:#x}, which is misaligned")]
    Misaligned {
        /// Load, store or atomic operation.
        access: &'static str,
        /// The address.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
    },
    /// A trap.
    #[error("trap {0}")]
    Trap(u8),
    /// Invalid words where an instruction is expected.
    #[error("{0}")]
    Decode(DecodeError),
    /// The address of the next instruction is not in code.
    #[error("the next instruction is at {0:#x}, which is {1}")]
    NoCode(u64, &'static str),
    /// An instruction that is not executed.
    #[error("the emulator does not support {0}")]
    Unsupported(String),
    /// A register beyond those that the descriptor declares.
    #[error("register {register} is used, but the kernel's descriptor declares {declared}")]
    Register {
        /// The register.
        register: String,
        /// The number of declared registers of its kind.
        declared: u32,
    },
    /// An illegal use of an instruction.
    #[error("{0}")]
    Illegal(String),
    /// All waves wait for each other.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// A race.
    #[error("{0}")]
    Race(String),
    /// The launch was stopped from outside.
    #[error("stopped before its end")]
    Stopped,
    /// The interpreter itself failed.
    #[error("the interpreter panicked: {0}")]
    Interpreter(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [gx, gy, gz] = self.workgroup;
        let [x, y, z] = self.lane;
        write!(
            f,
            "kernel `{}`, workgroup ({gx}, {gy}, {gz}), lane ({x}, {y}, {z}), {}: {}",
            self.kernel, self.at, self.kind
        )
    }
}

impl std::error::Error for Fault {}
