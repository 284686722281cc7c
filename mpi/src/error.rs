//! Errors.

use std::ffi::c_int;
use std::{fmt, io};

use mpi::ffi;
use mpi_calls::{Datatype, Operation};
use revoff_host::device::DeviceError;
use revoff_host::targets::count::Count;

use crate::communication::Communication;

/// An error of MPI, or of a call.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// MPI runs in this process already.
    #[error("MPI is started already: a process starts it once")]
    Started,
    /// The program was started by another MPI's `mpirun`.
    #[error(
        "{variable}={value}, but this process is the only rank: another MPI's mpirun has started it. Start it by the \
         mpirun of {library}, with which it was built"
    )]
    Launcher {
        /// The launcher's variable for the number of ranks.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The MPI that the program was built with.
        library: String,
    },
    /// MPI allows no threads in the process.
    #[error(
        "{library} provides MPI_THREAD_SINGLE, but kernels need threads: use an MPI that was built with threads"
    )]
    NoThreads {
        /// The MPI that the program was built with.
        library: String,
    },
    /// The thread that calls MPI cannot be started.
    #[error("cannot start the thread that calls MPI: {0}")]
    Thread(io::Error),
    /// The thread that calls MPI has panicked.
    #[error("the thread that calls MPI has panicked: see its message on the standard error")]
    Panicked,
    /// A function of MPI failed.
    #[error("{what}: {reason}")]
    Failed {
        /// The operation.
        what: Communication,
        /// MPI's message.
        reason: String,
    },
    /// MPI counts bytes of messages, and elements that are combined, by an `int`.
    #[error(
        "{what}: MPI takes at most {} {unit} at once; call it for parts of the data",
        c_int::MAX
    )]
    TooLong {
        /// The operation.
        what: Communication,
        /// The unit that MPI counts.
        unit: &'static str,
    },
    /// The rank does not exist.
    #[error("{what}: there is no such rank, but ranks from 0 to {}", .size - 1)]
    Rank {
        /// The operation.
        what: Communication,
        /// The number of ranks.
        size: u32,
    },
    /// The tag is too large for this MPI.
    #[error("{what}: the largest tag of this MPI is {max}")]
    Tag {
        /// The operation.
        what: Communication,
        /// The largest tag.
        max: u32,
    },
    /// There is no memory for a message.
    #[error(
        "cannot allocate {} for a message: send it in parts, or begin fewer at a time",
        Count(*bytes as u64, "byte")
    )]
    Memory {
        /// Its length.
        bytes: usize,
    },
    /// There is no memory to discard a message at the end.
    #[error(
        "cannot allocate {} to discard a message that no kernel has received: receive all messages before `Mpi::finish`",
        Count(*bytes as u64, "byte")
    )]
    Discard {
        /// Its length.
        bytes: usize,
    },
    /// The message is longer than the kernel receives.
    #[error("{what}: the message has {}, and is lost", Count(*bytes as u64, "byte"))]
    Truncated {
        /// The operation.
        what: Communication,
        /// The message's length.
        bytes: usize,
    },
    /// The ranks call different functions, or with other arguments.
    #[error(
        "{what}: another rank has called something else, or with other data, or has no memory for it: all ranks call the \
         same functions in the same order, with the same root, length, type and operation"
    )]
    Disagreement {
        /// This rank's operation.
        what: Communication,
    },
    /// No datatype, or no operation for it.
    #[error(
        "{what}: no operation {operation} for elements of type {datatype}: use those of `mpi_calls::Operation`, but \
         {}, {} and {} only for integers",
        Operation::AND,
        Operation::OR,
        Operation::XOR
    )]
    Operation {
        /// The operation.
        what: Communication,
        /// The operation.
        operation: Operation,
        /// The datatype.
        datatype: Datatype,
    },
    /// The bytes are not a number of elements.
    #[error("{what}: no multiple of the {size} bytes of an element; pass whole elements")]
    Elements {
        /// The operation.
        what: Communication,
        /// The size of an element.
        size: usize,
    },
    /// The request does not exist.
    #[error(
        "MPI request {0} does not exist, or was waited for already: wait once for what a call has returned"
    )]
    NoRequest(u64),
    /// Requests and messages that are being sent take too much memory.
    #[error(
        "messages that are not done take {} of at most {most}, no room for {} more: wait for some first",
        Count(*bytes, "byte"),
        Count(*message, "byte"),
    )]
    TooManyRequests {
        /// The memory that they take, in bytes.
        bytes: u64,
        /// The length of one more message.
        message: u64,
        /// The most memory that they may take.
        most: u64,
    },
    /// A message that was received in device memory cannot be copied.
    #[error("cannot copy a message from device memory: {0}")]
    Device(#[from] DeviceError),
    /// The environment's setting is invalid.
    #[error("environment variable REVOFF_MPI_GPU={value:?}: 0, 1 or auto expected")]
    Setting {
        /// The value.
        value: String,
    },
    /// MPI has ended.
    #[error("MPI has ended: wait for launches before `Mpi::finish`")]
    Ended,
    /// The message does not fit where the kernel waits for it.
    #[error(
        "a message of {} does not fit into {}: it is lost; wait for one with as many bytes as its receive has begun with",
        Count(*bytes as u64, "byte"),
        Count(*room as u64, "byte"),
    )]
    NoRoom {
        /// The message's length.
        bytes: usize,
        /// The bytes that the kernel passes.
        room: usize,
    },
}

/// `fn main() -> Result` and `unwrap` print `Debug`, and their readers need the remedy too.
impl fmt::Debug for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl MpiError {
    /// An error with MPI's message for its `code`.
    pub(crate) fn of(what: Communication, code: c_int) -> Self {
        let mut text = [0; 512];
        let mut len = 0;
        const { assert!(ffi::MPI_MAX_ERROR_STRING <= 512, "the text has room") };
        // SAFETY: the text has room for MPI_MAX_ERROR_STRING bytes. MPI allows this call with any code.
        unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr(), &mut len) };
        let bytes = text.iter().take(usize::try_from(len).unwrap_or(0));
        let bytes: Vec<u8> = bytes
            .map(|&byte| u8::from_ne_bytes(byte.to_ne_bytes()))
            .collect();
        Self::Failed {
            what,
            reason: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}
