//! A communication until its end.

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::{c_int, c_void};
use std::future::poll_fn;
use std::mem::{MaybeUninit, take};
use std::ptr::{NonNull, slice_from_raw_parts_mut};
use std::task::Poll;

use mpi::ffi;
use mpi_calls::Received;
use revoff_host::StagingBuffer;

use crate::communication::Communication;
use crate::element::MpiDatatype;
use crate::error::MpiError;

/// Memory that MPI uses while a communication is under way.
pub(crate) enum Buffer {
    /// Host memory.
    Host(Words),
    /// Device memory, which MPI accesses itself.
    Device(StagingBuffer),
    /// Host memory for a message that nobody gets.
    Sink(Sink),
}

impl From<Words> for Buffer {
    fn from(words: Words) -> Self {
        Self::Host(words)
    }
}

impl Buffer {
    /// For a reduction: a copy of the data, and memory for the result.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn for_reduction(data: &[u8]) -> Result<Vec<Self>, MpiError> {
        Ok(vec![
            Words::copy_of(data)?.into(),
            Words::new(data.len())?.into(),
        ])
    }

    /// For MPI.
    fn as_mut_ptr(&mut self) -> *mut c_void {
        match self {
            Self::Host(words) => words.words.cast(),
            Self::Device(buffer) => buffer.as_mut_ptr().cast(),
            Self::Sink(sink) => sink.0.as_mut_ptr().cast(),
        }
    }

    /// Copies its first bytes.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn read(&self, to: &mut [u8]) -> Result<(), MpiError> {
        match self {
            Self::Host(words) => to.copy_from_slice(&words.bytes()[..to.len()]),
            Self::Device(buffer) => buffer.read(to)?,
            Self::Sink(_) => unreachable!("nobody gets it"),
        }
        Ok(())
    }
}

/// Memory of the host, aligned for all elements.
pub(crate) struct Words {
    /// The words, as a pointer: MPI writes to them while a `Request` moves.
    words: *mut [u64],
    bytes: usize,
}

// SAFETY: a buffer alone has the address of its memory, and nothing in that memory belongs to a thread.
unsafe impl Send for Words {}

impl Words {
    /// Allocates zeros.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn new(bytes: usize) -> Result<Self, MpiError> {
        let count = bytes.div_ceil(8);
        let no_memory = MpiError::Memory { bytes };
        let words = match Layout::array::<u64>(count) {
            // SAFETY: the size is not 0.
            Ok(layout) if count > 0 => unsafe { alloc_zeroed(layout) }.cast::<u64>(),
            Ok(_) => NonNull::dangling().as_ptr(),
            Err(_) => return Err(no_memory),
        };
        if words.is_null() {
            return Err(no_memory);
        }
        Ok(Self {
            words: slice_from_raw_parts_mut(words, count),
            bytes,
        })
    }

    /// A copy.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub(crate) fn copy_of(data: &[u8]) -> Result<Self, MpiError> {
        let mut buffer = Self::new(data.len())?;
        buffer.bytes_mut().copy_from_slice(data);
        Ok(buffer)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: `words` is the allocation of `new`, of at least these bytes, all of which have values. MPI
        // does not write meanwhile: a buffer is in its `Request` until MPI has finished, and that lends it to nobody.
        unsafe { std::slice::from_raw_parts(self.words.cast(), self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; the reference to this is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.words.cast(), self.bytes) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: `new` has allocated it with the layout of the box, or it has no words; it is not freed since. Zeros are
        // values.
        drop(unsafe { Box::from_raw(self.words) });
    }
}

/// Memory of the host without values.
pub(crate) struct Sink(Vec<u8>);

impl Sink {
    /// With so many bytes; `None` if there is no room.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let mut memory = vec![];
        memory.try_reserve_exact(bytes).ok()?;
        Some(Self(memory))
    }
}

/// A communication under way, with its memory.
///
/// It owns that until MPI has finished. Dropped before, when MPI ends or after an error of MPI, it leaks it.
pub(crate) struct Request {
    raw: ffi::MPI_Request,
    what: Communication,
    /// `None` once MPI has finished.
    buffers: Option<Vec<Buffer>>,
}

// SAFETY: MPI identifies a request by its value on all threads. It is tested only where a future of a call, or the rest of
// one (`RunToEnd`), is polled, by threads that may call MPI, while MPI runs: `Shared::run` polls the future of a call where
// all threads may call MPI, and holds `calling` meanwhile; otherwise it sends the future to the thread `mpi` before the
// first poll. That thread drops its futures before it ends MPI. A future whose first poll comes after the end begins no
// request. The drop does not call MPI.
unsafe impl Send for Request {}

impl Request {
    /// Begins `what`: `begin` calls the function of MPI, with the buffers' addresses, and returns its code. The buffers are
    /// taken, unless there is an error.
    pub(crate) fn begin(
        what: Communication,
        buffers: &mut Vec<Buffer>,
        begin: impl FnOnce(&[*mut c_void], *mut ffi::MPI_Request) -> c_int,
    ) -> Result<Self, MpiError> {
        let addresses: Vec<_> = buffers.iter_mut().map(Buffer::as_mut_ptr).collect();
        let mut raw = MaybeUninit::uninit();
        match begin(&addresses, raw.as_mut_ptr()) {
            0 => Ok(Self {
                // SAFETY: MPI has set it.
                raw: unsafe { raw.assume_init() },
                what,
                buffers: Some(take(buffers)),
            }),
            code => Err(MpiError::of(what, code)),
        }
    }

    /// The device memory that it uses, if it uses such.
    pub(crate) fn staging(&self) -> Option<&StagingBuffer> {
        match self.buffers.as_deref()? {
            [Buffer::Device(buffer)] => Some(buffer),
            _ => None,
        }
    }

    /// Asks MPI whether it has finished. Then it has let go of the memory, which is dropped after an error.
    fn test(&mut self) -> Result<Option<ffi::MPI_Status>, MpiError> {
        let mut is_done = 0;
        let mut status = MaybeUninit::zeroed();
        // SAFETY: the request is MPI's, not finished, and this thread may call MPI, see above. MPI writes to the two
        // others.
        let code = unsafe { ffi::MPI_Test(&mut self.raw, &mut is_done, status.as_mut_ptr()) };
        match (code, is_done) {
            (0, 0) => Ok(None),
            // SAFETY: an MPI_Status has integers only, of which zeros are values; MPI has set those that count.
            (0, _) => Ok(Some(unsafe { status.assume_init() })),
            (code, _) => {
                // The error may be another one's, which MPI has met while it looked for messages: it goes on with this
                // request then, and its memory stays.
                // SAFETY: MPI sets it, and nobody changes it.
                let none = unsafe { ffi::RSMPI_REQUEST_NULL };
                if is_done != 0 || self.raw == none {
                    self.buffers = None;
                }
                Err(MpiError::of(self.what, code))
            }
        }
    }

    /// Waits until MPI has finished; returns what was received, and the memory.
    pub(crate) async fn done(mut self) -> Result<(Received, Vec<Buffer>), MpiError> {
        let status = poll_fn(|_| match self.test() {
            Ok(None) => Poll::Pending,
            Ok(Some(status)) => Poll::Ready(Ok(status)),
            Err(error) => Poll::Ready(Err(error)),
        });
        let status = status.await?;
        // MPI has let go of the memory.
        let buffers = take(&mut self.buffers).unwrap_or_default();
        Ok((self.received(&status), buffers))
    }

    fn received(&self, status: &ffi::MPI_Status) -> Received {
        let mut count = 0;
        if let Communication::Receive { .. } = self.what {
            // SAFETY: the status is of a message that was received.
            unsafe { ffi::MPI_Get_count(status, MpiDatatype::bytes(), &mut count) };
        }
        Received {
            from: status.MPI_SOURCE.cast_unsigned(),
            tag: status.MPI_TAG.cast_unsigned(),
            bytes: count.max(0).cast_unsigned().into(),
        }
    }
}

impl Drop for Request {
    /// MPI may still work on the memory, which therefore stays.
    fn drop(&mut self) {
        let buffers = take(&mut self.buffers).into_iter().flatten();
        buffers.for_each(std::mem::forget);
    }
}
