//! Errors and faults.

use std::fmt;

pub use crate::text::error::TextError;

/// Text that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A line is invalid or not supported.
    #[error("{part}:{line}: {what}")]
    Text {
        /// The text's name.
        part: String,
        /// From 1.
        line: u32,
        /// The error.
        what: Box<TextError>,
    },
    /// The text is for a newer device.
    #[error("{part} is for sm_{wanted}, this device is sm_{device}")]
    Newer {
        /// The text's name.
        part: String,
        /// The architecture that it needs.
        wanted: u32,
        /// The device's architecture.
        device: u32,
    },
    /// Device memory is full.
    #[error("no room for `{variable}` of {bytes} bytes")]
    OutOfMemory {
        /// The variable.
        variable: String,
        /// Its size.
        bytes: u64,
    },
}

/// A launch that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Grid, block or shared memory are out of bounds.
    #[error("{0}")]
    Bounds(String),
    /// The kernel is another module's, or the module another machine's.
    #[error("the kernel is of another module, or the module of another machine")]
    OtherModule,
    /// The parameters do not match the kernel's.
    #[error("kernel `{kernel}` takes parameters of {wanted:?} bytes, not of {given:?}")]
    Params {
        /// The kernel.
        kernel: String,
        /// The sizes of its parameters.
        wanted: Vec<u32>,
        /// The given sizes.
        given: Vec<usize>,
    },
    /// Device memory is full.
    #[error("no room for {bytes} bytes that the blocks of a cooperative launch share")]
    Workspace {
        /// The size.
        bytes: u64,
    },
    /// The system has no threads.
    #[error("no threads to run it on: {0}")]
    Threads(String),
}

/// A fault of a device thread, which ends the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kernel's name.
    pub kernel: String,
    /// The block's place in the grid.
    pub block: [u32; 3],
    /// The thread's place in the block.
    pub thread: [u32; 3],
    /// The location of the instruction.
    pub at: SourceLocation,
    /// The kind of fault.
    pub what: FaultKind,
}

/// An instruction of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The text's name.
    pub part: String,
    /// From 1.
    pub line: u32,
    /// The line.
    pub text: String,
    /// The function that it is in.
    pub function: String,
    /// File and line of the source, if the text has them.
    pub source: Option<String>,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = &self.source {
            write!(f, "{source}, ")?;
        }
        write!(f, "{}:{}: `{}`", self.part, self.line, self.text)
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
        /// The address, in the instruction's space.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
        /// A description of the address.
        what: String,
    },
    /// An access to an address that is not a multiple of its size.
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
    #[error("trap")]
    Trap,
    /// An assertion of the program.
    #[error(
        "assertion failed: {file}:{line}: {}{message}",
        if function.is_empty() { String::new() } else { format!("{function}: ") }
    )]
    Assertion {
        /// File of the source.
        file: String,
        /// Its line.
        line: u64,
        /// The function that asserts, if it is given.
        function: String,
        /// The condition.
        message: String,
    },
    /// Device code frees memory that it did not allocate, or twice.
    #[error("free of {address:#x}, which malloc on the device did not return, or which is free")]
    BadFree {
        /// The address.
        address: u64,
    },
    /// The launch was stopped from outside.
    #[error("stopped before its end")]
    Stopped,
    /// The interpreter itself failed.
    #[error("the interpreter panicked: {0}")]
    Interpreter(String),
    /// Local memory is exhausted.
    #[error("the stack of {limit} bytes is used up")]
    StackOverflow {
        /// Bytes of a thread.
        limit: u32,
    },
    /// A call of an address that is not a function with that signature.
    #[error("call of {address:#x}: {what}")]
    BadCall {
        /// The address.
        address: u64,
        /// A description of the address.
        what: &'static str,
    },
    /// An indexed branch beyond its targets.
    #[error("indexed branch to number {index} of {targets}")]
    BadBranch {
        /// The index.
        index: u32,
        /// The number of targets.
        targets: usize,
    },
    /// The lanes of a collective instruction have diverged on hardware that cannot wait for them; or
    /// lanes name others but not themselves.
    #[error("lanes {members:#010x} are named, lanes {active:#010x} are active")]
    NotTogether {
        /// The lanes that are named.
        members: u32,
        /// The lanes that execute the instruction.
        active: u32,
    },
    /// A barrier that does not exist, with an invalid number of threads, or with another number than
    /// that of the waiting threads.
    #[error("barrier {number}: {what}")]
    BadBarrier {
        /// The barrier.
        number: u64,
        /// The error.
        what: String,
    },
    /// A wrong use of an `mbarrier` object.
    #[error("mbarrier at {address:#x}: {what}")]
    BadMbarrier {
        /// Its address, in the instruction's space.
        address: u64,
        /// The error.
        what: MbarrierError,
    },
    /// A size of an asynchronous copy is not possible.
    #[error("copy of {bytes} bytes: {what}")]
    BadCopy {
        /// The size.
        bytes: u64,
        /// The rule that it breaks.
        what: &'static str,
    },
    /// The warp must execute an instruction as a whole, but some of its lanes never will.
    #[error("all 32 lanes of the warp must execute it together, but only lanes {active:#010x} do")]
    NotWholeWarp {
        /// The lanes that execute it.
        active: u32,
    },
    /// The lanes of a warp name different matrices.
    #[error("its address, stride, descriptor or scale is invalid, or not the same in all lanes")]
    BadMatrixOperand,
    /// A block that the cluster does not have.
    #[error("block {rank} of the cluster, which has one block")]
    BadRank {
        /// The block's number in the cluster.
        rank: u64,
    },
    /// A thread waits at the barrier of its cluster without having arrived, or arrives twice.
    #[error("the cluster's barrier: {0}")]
    BadClusterBarrier(&'static str),
    /// All threads wait for each other.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// A race.
    #[error("{0}")]
    Race(String),
}

/// A wrong use of an `mbarrier` object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MbarrierError {
    /// There was never an object.
    #[error("it is not initialised")]
    NotInitialised,
    /// `mbarrier.inval` was the last operation.
    #[error("it was invalidated")]
    Invalid,
    /// There is an object, which must be invalidated first.
    #[error("it is initialised twice; invalidate it (mbarrier.inval) before")]
    Twice,
    /// The program has stored something else there.
    #[error("its memory was overwritten by other instructions")]
    Overwritten,
    /// A count of threads is out of bounds.
    #[error("a count of {count}, which is not from 1 to 1048575")]
    Count {
        /// The count.
        count: u64,
    },
    /// More threads arrive than it expects.
    #[error("{count} arrive, but only {pending} are pending in this phase")]
    Arrivals {
        /// The arriving threads.
        count: u64,
        /// The threads that it still expects.
        pending: u64,
    },
    /// `.noComplete` completes the phase.
    #[error("the arrival completes the phase, in spite of .noComplete")]
    Completes,
    /// The count of bytes is out of bounds.
    #[error("{bytes} bytes are pending, which is not from -1048575 to 1048575")]
    Bytes {
        /// The pending bytes.
        bytes: i64,
    },
    /// The state is of neither this phase nor the last one.
    #[error("state {state:#x} is not of this phase, and not of the last one")]
    State {
        /// The state.
        state: u64,
    },
    /// A phase's parity is neither 0 nor 1.
    #[error("{parity} is no parity of a phase, which is 0 or 1")]
    Parity {
        /// The number.
        parity: u64,
    },
}

impl Fault {
    /// Block and thread.
    #[must_use]
    pub fn lane(&self) -> String {
        let [bx, by, bz] = self.block;
        let [x, y, z] = self.thread;
        format!("block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})")
    }

    /// Block, thread, function and instruction.
    #[must_use]
    pub fn location(&self) -> String {
        let function = if self.at.function == self.kernel {
            String::new()
        } else {
            format!("in `{}`, ", self.at.function)
        };
        format!("{}, {function}{}", self.lane(), self.at)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel `{}`, {}: {}",
            self.kernel,
            self.location(),
            self.what
        )
    }
}

impl std::error::Error for Fault {}
