//! Begins communications.

use std::ffi::c_int;

use mpi::ffi;
use mpi_calls::{ANY, Datatype, Operation};

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

    /// Begins to receive at most `bytes` bytes, into what `buffer` returns.
    pub(crate) fn receive(
        &self,
        from: u32,
        tag: u32,
        bytes: usize,
        buffer: impl FnOnce() -> Buffer,
    ) -> Result<Request, MpiError> {
        let what = Communication::Receive { from, tag, bytes };
        let count = count(what, bytes, "bytes")?;
        // SAFETY: MPI sets these, and nobody changes them.
        let (any_rank, any_tag) = unsafe { (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_ANY_TAG) };
        let rank = if from == ANY {
            any_rank
        } else {
            number(what, "rank", from)?
        };
        let tag = if tag == ANY {
            any_tag
        } else {
            number(what, "tag", tag)?
        };
        Request::begin(what, vec![buffer()], |at, request| {
            // SAFETY: as in `send`.
            unsafe {
                ffi::MPI_Irecv(
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

    pub(crate) fn barrier(&self) -> Result<Request, MpiError> {
        Request::begin(Communication::Barrier, vec![], |_, request| {
            // SAFETY: a communicator and a place for the request.
            unsafe { ffi::MPI_Ibarrier(self.raw, request) }
        })
    }

    pub(crate) fn broadcast(&self, root: u32, data: &[u8]) -> Result<Request, MpiError> {
        let bytes = data.len();
        let what = Communication::Broadcast { root, bytes };
        let (count, root) = (count(what, bytes, "bytes")?, number(what, "rank", root)?);
        Request::begin(what, vec![Words::copy_of(data).into()], |at, request| {
            // SAFETY: as in `send`.
            unsafe { ffi::MPI_Ibcast(at[0], count, MpiDatatype::bytes(), root, self.raw, request) }
        })
    }

    /// Combines elements; the second buffer gets the result, of `root` alone or of all ranks.
    pub(crate) fn reduce(
        &self,
        root: Option<u32>,
        (datatype, operation): (u32, u32),
        data: &[u8],
    ) -> Result<Request, MpiError> {
        let bytes = data.len();
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
        let buffers = vec![Words::copy_of(data).into(), Words::new(bytes).into()];
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
