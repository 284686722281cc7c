//! The copies between a device and the host.

use std::ptr::NonNull;

use crate::device::{DeviceAddr, DeviceError};

/// Moves bytes between a request's ranges and host memory.
///
/// An implementor finds bytes that came with the request by [`Piece::entry`], and copies the others
/// through a queue of the device. Pieces of one call may overlap, in the same way on the device and
/// on the host.
pub(crate) trait Transfer {
    /// Copies all pieces from the device and returns when all have arrived:
    /// every byte of every piece is written when this returns `Ok`.
    ///
    /// # Errors
    ///
    /// A piece that could not be copied. The host function then does not run.
    fn fetch(&mut self, pieces: &[Piece]) -> Result<(), TransferError>;

    /// Copies all pieces to the device and returns when host memory is no
    /// longer needed and the device can see the bytes.
    ///
    /// # Errors
    ///
    /// A piece that could not be copied.
    fn store(&mut self, pieces: &[Piece]) -> Result<(), TransferError>;
}

/// One contiguous range to copy, lent to a [`Transfer`] for one call.
///
/// The holder of a `&Piece` may read and write `len` bytes at `host` until the
/// call that lent it returns. Neither `Clone` nor constructible in safe code, so
/// that an implementor can rely on it.
#[derive(Debug)]
pub(crate) struct Piece {
    entry: usize,
    device: u64,
    host: NonNull<u8>,
    len: usize,
}

impl Piece {
    /// A piece of `len` bytes of argument `entry`.
    ///
    /// # Safety
    ///
    /// While the piece is lent, `host` is valid for reads and writes of `len` bytes, and only
    /// borrowers of pieces access them.
    #[must_use]
    pub(crate) unsafe fn new(entry: usize, device: u64, host: NonNull<u8>, len: usize) -> Self {
        Piece {
            entry,
            device,
            host,
            len,
        }
    }

    /// Index of the argument that the range belongs to.
    #[must_use]
    pub(crate) fn entry(&self) -> usize {
        self.entry
    }

    /// Device address of the first byte; the argument's own address, except for
    /// the pointers of `ATTACH` entries.
    #[must_use]
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// Host address of the first byte.
    #[must_use]
    pub(crate) fn host(&self) -> *mut u8 {
        self.host.as_ptr()
    }

    /// Number of bytes, never zero from a [`Mapper`](super::Mapper).
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// A copy that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The copy of one range.
    #[error("copy of {len} bytes at device address {device} failed")]
    Copy {
        /// Device address of the range.
        device: DeviceAddr,
        /// Bytes of the range.
        len: u64,
        /// The device's error.
        #[source]
        reason: DeviceError,
    },
    /// One of several copies that were queued; the device does not report which.
    #[error("one of {count} copies failed")]
    AnyOf {
        /// The number of copies.
        count: usize,
        /// The device's error.
        #[source]
        reason: DeviceError,
    },
}

impl TransferError {
    /// The copy of `piece` failed because of `reason`.
    pub(crate) fn of(piece: &Piece, reason: DeviceError) -> Self {
        Self::Copy {
            device: DeviceAddr(piece.device),
            len: piece.len as u64,
            reason,
        }
    }

    /// Because of `reason`, the copy of one of `pieces` failed.
    pub(crate) fn of_any(pieces: &[Piece], reason: DeviceError) -> Self {
        match pieces {
            [piece] => Self::of(piece, reason),
            _ => Self::AnyOf {
                count: pieces.len(),
                reason,
            },
        }
    }
}
