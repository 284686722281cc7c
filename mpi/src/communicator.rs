//! Begins communications.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use mpi::ffi;
use mpi_calls::{ANY, Datatype, MAX_TAG, Operation};
use revoff_fn::zerocopy::IntoBytes;

use crate::communication::Communication;
use crate::element::MpiDatatype;
use crate::error::MpiError;
use crate::request::{Buffer, Request, Words};

/// All ranks; errors are returned.
#[derive(Clone, Copy)]
pub(crate) struct Communicator {
    pub(crate) raw: ffi::MPI_Comm,
    pub(crate) rank: u32,
    pub(crate) size: u32,
}

// SAFETY: MPI identifies a communicator by its value on all threads; see `Request` for who calls MPI.
unsafe impl Send for Communicator {}
// SAFETY: as above.
unsafe impl Sync for Communicator {}

/// A message that has come and is not received yet.
pub(crate) struct Arrived {
    raw: ffi::MPI_Message,
    pub(crate) from: u32,
    pub(crate) tag: u32,
    pub(crate) bytes: usize,
}

// SAFETY: MPI identifies a message by its value on all threads; see `Request` for who calls MPI.
unsafe impl Send for Arrived {}

impl Communicator {
    /// Begins to send `bytes` bytes, which `buffer` returns.
    pub(crate) fn send(
        &self,
        to: u32,
        tag: u32,
        bytes: usize,
        buffer: impl FnOnce() -> Buffer,
    ) -> Result<Request, MpiError> {
        let what = Communication::Send { to, tag, bytes };
        let (count, rank) = (count(what, bytes, "bytes")?, number(what, "rank", to)?);
        let tag = number(what, "tag", tag)?;
        Request::begin(what, vec![buffer()], |at, request| {
            // SAFETY: the memory has the bytes and belongs to MPI until the request is finished.
            unsafe {
                ffi::MPI_Isend(
                    at[0],
                    count,
                    MpiDatatype::bytes(),
                    rank,
                    tag,
                    self.raw,
                    request,
                )
            }
        })
    }

    /// Checks the rank and the tag of a receive, [`ANY`] or numbers. MPI says which others do not exist.
    pub(crate) fn check_source(
        &self,
        what: Communication,
        from: u32,
        tag: u32,
    ) -> Result<(), MpiError> {
        let is_rank = from == ANY || from < self.size;
        if is_rank && (tag == ANY || tag <= MAX_TAG) {
            return Ok(());
        }
        // SAFETY: MPI sets these, and nobody changes them.
        let (any_rank, any_tag) = unsafe { (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_ANY_TAG) };
        let rank = match from {
            ANY => any_rank,
            rank => number(what, "rank", rank)?,
        };
        let tag = match tag {
            ANY => any_tag,
            tag => number(what, "tag", tag)?,
        };
        let mut has_come = 0;
        let mut status = MaybeUninit::uninit();
        // SAFETY: MPI writes to the last two.
        match unsafe { ffi::MPI_Iprobe(rank, tag, self.raw, &mut has_come, status.as_mut_ptr()) } {
            0 => Ok(()),
            code => Err(MpiError::of(what, code)),
        }
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
            from: status.MPI_SOURCE.cast_unsigned(),
            tag: status.MPI_TAG.cast_unsigned(),
            // MPI counts what it can send.
            bytes: usize::try_from(count).unwrap_or(usize::MAX),
        }))
    }

    /// Begins to receive a message, into a buffer with as many bytes, or more.
    pub(crate) fn receive(
        &self,
        what: Communication,
        mut message: Arrived,
        buffer: Buffer,
    ) -> Result<Request, MpiError> {
        let count = count(what, message.bytes, "bytes")?;
        Request::begin(what, vec![buffer], |at, request| {
            // SAFETY: as in `send`; the message is MPI's, and received once.
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

    /// Begins to combine words of all ranks: each gets the largest of each.
    pub(crate) fn largest(&self, what: Communication, words: &[u64]) -> Result<Request, MpiError> {
        let count = count(what, words.len(), "words")?;
        let data = words.as_bytes();
        let buffers = vec![Words::copy_of(data).into(), Words::new(data.len()).into()];
        Request::begin(what, buffers, |at, request| {
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

    /// Begins to broadcast `data` of `bytes` bytes. All ranks have as many.
    pub(crate) fn broadcast(
        &self,
        root: u32,
        bytes: usize,
        data: Words,
    ) -> Result<Request, MpiError> {
        let what = Communication::Broadcast { root, bytes };
        let (count, root) = (count(what, bytes, "bytes")?, number(what, "rank", root)?);
        Request::begin(what, vec![data.into()], |at, request| {
            // SAFETY: as in `send`.
            unsafe { ffi::MPI_Ibcast(at[0], count, MpiDatatype::bytes(), root, self.raw, request) }
        })
    }

    /// Combines the elements in `data` of `bytes` bytes; the second buffer gets the result, of `root` alone or of all
    /// ranks. All ranks have as many.
    pub(crate) fn reduce(
        &self,
        root: Option<u32>,
        (datatype, operation): (u32, u32),
        bytes: usize,
        data: Words,
    ) -> Result<Request, MpiError> {
        let what = Communication::Reduce { root, bytes };
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
        let root = root.map(|root| number(what, "rank", root)).transpose()?;
        let buffers = vec![data.into(), Words::new(bytes).into()];
        Request::begin(what, buffers, |at, request| {
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
                        root,
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

/// A rank or tag for MPI, which checks whether it exists.
fn number(what: Communication, name: &'static str, value: u32) -> Result<c_int, MpiError> {
    c_int::try_from(value).map_err(|_| MpiError::Number { what, name, value })
}
