//! Begins communications.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use mpi::ffi;
use mpi_calls::{ANY, Datatype, Operation};

use crate::communication::Communication;
use crate::element::MpiDatatype;
use crate::error::MpiError;
use crate::matching::{HasSource, Source};
use crate::request::{Buffer, Request};

/// All ranks; errors are returned.
#[derive(Clone, Copy)]
pub(crate) struct Communicator {
    pub(crate) raw: ffi::MPI_Comm,
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// The largest tag.
    pub(crate) max_tag: u32,
}

// SAFETY: MPI identifies a communicator by its value on all threads; see `Request` for who calls MPI.
unsafe impl Send for Communicator {}
// SAFETY: as above.
unsafe impl Sync for Communicator {}

/// A message that has come and is not received yet.
pub(crate) struct Arrived {
    raw: ffi::MPI_Message,
    pub(crate) source: Source,
    pub(crate) bytes: usize,
}

// SAFETY: MPI identifies a message by its value on all threads; see `Request` for who calls MPI.
unsafe impl Send for Arrived {}

impl HasSource for Arrived {
    fn source(&self) -> Source {
        self.source
    }
}

impl Communicator {
    /// Begins to send `bytes` bytes, which `buffer` returns.
    pub(crate) fn send(
        &self,
        to: u32,
        tag: u32,
        bytes: usize,
        buffer: impl FnOnce() -> Result<Buffer, MpiError>,
    ) -> Result<Request, MpiError> {
        let what = Communication::Send { to, tag, bytes };
        self.check(what)?;
        let count = count(what, bytes, "bytes")?;
        Request::begin(what, &mut vec![buffer()?], |at, request| {
            // SAFETY: the memory has the bytes and belongs to MPI until the request is finished.
            unsafe {
                ffi::MPI_Isend(
                    at[0],
                    count,
                    MpiDatatype::bytes(),
                    to.cast_signed(),
                    tag.cast_signed(),
                    self.raw,
                    request,
                )
            }
        })
    }

    /// Checks the rank and the tag of `what`, which are ints of MPI then. Not every MPI checks them.
    pub(crate) fn check(&self, what: Communication) -> Result<(), MpiError> {
        let not_any = |value: u32| (value != ANY).then_some(value);
        let (rank, tag) = match what {
            Communication::Send { to, tag, .. } => (Some(to), Some(tag)),
            Communication::Receive { from, tag, .. } => (not_any(from), not_any(tag)),
            Communication::Broadcast { root, .. } => (Some(root), None),
            Communication::Reduce { root, .. } => (root, None),
            Communication::Barrier | Communication::Init | Communication::Finish => (None, None),
        };
        let (size, max) = (self.size, self.max_tag);
        if rank.is_some_and(|rank| rank >= size) {
            return Err(MpiError::Rank { what, size });
        }
        if tag.is_some_and(|tag| tag > max) {
            return Err(MpiError::Tag { what, max });
        }
        Ok(())
    }

    /// The next message that has come, which is then for [`receive`](Self::receive) alone.
    ///
    /// # Errors
    /// MPI's code.
    pub(crate) fn next_message(&self) -> Result<Option<Arrived>, c_int> {
        let mut has_come = 0;
        let mut message = MaybeUninit::uninit();
        let mut status = MaybeUninit::zeroed();
        // SAFETY: MPI sets the first two of these, and nobody changes them. It writes to the last three.
        let code = unsafe {
            ffi::MPI_Improbe(
                ffi::RSMPI_ANY_SOURCE,
                ffi::RSMPI_ANY_TAG,
                self.raw,
                &mut has_come,
                message.as_mut_ptr(),
                status.as_mut_ptr(),
            )
        };
        match (code, has_come) {
            (0, 0) => return Ok(None),
            (0, _) => {}
            (code, _) => return Err(code),
        }
        // SAFETY: an MPI_Status has integers only, of which zeros are values; MPI has set those that count.
        let status: ffi::MPI_Status = unsafe { status.assume_init() };
        let mut count = -1;
        // SAFETY: the status is of a message.
        unsafe { ffi::MPI_Get_count(&status, MpiDatatype::bytes(), &mut count) };
        Ok(Some(Arrived {
            // SAFETY: MPI has set it with the message.
            raw: unsafe { message.assume_init() },
            source: Source {
                from: status.MPI_SOURCE.cast_unsigned(),
                tag: status.MPI_TAG.cast_unsigned(),
            },
            // MPI counts what it can send.
            bytes: usize::try_from(count).unwrap_or(usize::MAX),
        }))
    }

    /// Begins to receive a message, into the buffer, of as many bytes, or more. After an error, both are left.
    pub(crate) fn receive(
        &self,
        what: Communication,
        message: &mut Arrived,
        buffers: &mut Vec<Buffer>,
    ) -> Result<Request, MpiError> {
        let count = count(what, message.bytes, "bytes")?;
        Request::begin(what, buffers, |at, request| {
            // SAFETY: as in `send`; the message is MPI's, which sets it to null when it has received it, and then rejects it.
            unsafe {
                ffi::MPI_Imrecv(
                    at[0],
                    count,
                    MpiDatatype::bytes(),
                    &mut message.raw,
                    request,
                )
            }
        })
    }

    /// Begins to combine `words` words in the first buffer with those of all ranks: the second gets the largest of each. Both
    /// have so many.
    pub(crate) fn largest(
        &self,
        what: Communication,
        words: usize,
        mut buffers: Vec<Buffer>,
    ) -> Result<Request, MpiError> {
        let count = count(what, words, "words")?;
        Request::begin(what, &mut buffers, |at, request| {
            // SAFETY: both have `count` words, are aligned for them, and belong to MPI until the request is finished.
            // MPI sets the datatype and the operation, and nobody changes them.
            unsafe {
                ffi::MPI_Iallreduce(
                    at[0],
                    at[1],
                    count,
                    ffi::RSMPI_UINT64_T,
                    ffi::RSMPI_MAX,
                    self.raw,
                    request,
                )
            }
        })
    }

    /// Begins to broadcast the buffer, of `bytes` bytes. All ranks have as many.
    pub(crate) fn broadcast(
        &self,
        root: u32,
        bytes: usize,
        mut buffers: Vec<Buffer>,
    ) -> Result<Request, MpiError> {
        let what = Communication::Broadcast { root, bytes };
        self.check(what)?;
        let count = count(what, bytes, "bytes")?;
        Request::begin(what, &mut buffers, |at, request| {
            // SAFETY: as in `send`.
            unsafe {
                ffi::MPI_Ibcast(
                    at[0],
                    count,
                    MpiDatatype::bytes(),
                    root.cast_signed(),
                    self.raw,
                    request,
                )
            }
        })
    }

    /// Begins to combine the elements in the first buffer; the second gets the result, of `root` alone or of all ranks. Both
    /// have `bytes` bytes; all ranks have as many.
    pub(crate) fn reduce(
        &self,
        root: Option<u32>,
        (datatype, operation): (u32, u32),
        bytes: usize,
        mut buffers: Vec<Buffer>,
    ) -> Result<Request, MpiError> {
        let what = Communication::Reduce { root, bytes };
        self.check(what)?;
        let (datatype, operation) = (Datatype(datatype), Operation(operation));
        let none = || MpiError::Operation {
            what,
            operation,
            datatype,
        };
        let datatype = MpiDatatype::of(datatype).ok_or_else(none)?;
        let operation = datatype.operation(operation).ok_or_else(none)?;
        let size = datatype.size;
        if !bytes.is_multiple_of(size) {
            return Err(MpiError::Elements { what, size });
        }
        let count = count(what, bytes / size, "elements")?;
        Request::begin(what, &mut buffers, |at, request| {
            // SAFETY: both have the bytes of `count` elements, are aligned for them and belong to MPI until the request
            // is finished.
            unsafe {
                match root {
                    Some(root) => ffi::MPI_Ireduce(
                        at[0],
                        at[1],
                        count,
                        datatype.raw,
                        operation,
                        root.cast_signed(),
                        self.raw,
                        request,
                    ),
                    None => ffi::MPI_Iallreduce(
                        at[0],
                        at[1],
                        count,
                        datatype.raw,
                        operation,
                        self.raw,
                        request,
                    ),
                }
            }
        })
    }
}

/// A number of elements for MPI, whose errors call them `unit`.
fn count(what: Communication, elements: usize, unit: &'static str) -> Result<c_int, MpiError> {
    c_int::try_from(elements).map_err(|_| MpiError::TooLong { what, unit })
}
