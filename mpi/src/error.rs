//! What can go wrong.

use std::ffi::c_int;

use mpi::ffi;
use revoff_host::targets::count::Count;

use crate::communication::Communication;

/// An error of MPI, or of a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// MPI runs in this process already.
    #[error("MPI is started already: a process starts it once")]
    Started,
    /// The program was started by another MPI's `mpirun`.
    #[error(
        "{variable}={value}, but this process is alone: the program was built with {library}, and another MPI's \
         mpirun has started it"
    )]
    Launcher {
        /// The launcher's variable for the number of ranks.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The MPI that the program was built with.
        library: String,
    },
    /// The thread that calls MPI cannot be started, or has ended.
    #[error("the thread that calls MPI: {0}")]
    Thread(String),
    /// A function of MPI failed.
    #[error("{what}: {reason}")]
    Failed {
        /// What it was to do.
        what: Communication,
        /// What MPI says.
        reason: String,
    },
    /// MPI takes messages of at most 2 GiB.
    #[error("{0}: MPI takes at most 2147483647 bytes")]
    TooLong(Communication),
    /// No rank, tag or root.
    #[error("{what}: {name} {value} is too large")]
    Number {
        /// What it was to do.
        what: Communication,
        /// The name of the number.
        name: &'static str,
        /// The number.
        value: u32,
    },
    /// No kind of elements, or no operation for them.
    #[error("{what}: operation {operation} does not exist for elements of kind {kind}")]
    Operation {
        /// What it was to do.
        what: Communication,
        /// The number of the operation.
        operation: u32,
        /// The number of the kind.
        kind: u32,
    },
    /// The bytes are not a number of elements.
    #[error("{what}: no multiple of the {size} bytes of an element")]
    Elements {
        /// What it was to do.
        what: Communication,
        /// The size of an element.
        size: usize,
    },
    /// The request does not exist.
    #[error("MPI request {0} does not exist, or was waited for already")]
    NoRequest(u64),
    /// The requests that are not done take too much memory.
    #[error(
        "MPI requests that are not done take {bytes} of at most {most} bytes, no room for {} more: wait for some first",
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
    /// MPI has ended.
    #[error("MPI has ended: wait for launches before `Mpi::finish`")]
    Ended,
    /// The message does not fit where the kernel waits for it.
    #[error("a message of {bytes} bytes is waited for with room for {room}")]
    NoRoom {
        /// The message's length.
        bytes: usize,
        /// The bytes that the kernel passes.
        room: usize,
    },
}

impl MpiError {
    /// An error with what MPI says of its `code`.
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
