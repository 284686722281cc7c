//! The bytes of one request's arguments.

use host_fn::RawArg;

use crate::map::{Arg, HostArg, Piece, Transfer, TransferError};
use crate::wire::{ArgRange, Copier, Request};

/// A mapped argument for a typed function.
pub(super) fn raw_arg(arg: &HostArg) -> RawArg {
    RawArg {
        ptr: arg.ptr,
        size: arg.size,
        kind: arg.kind,
    }
}

/// Transfers the bytes of one request's arguments.
pub(super) struct RequestTransfer<'a> {
    pub(super) request: &'a mut Request,
    pub(super) copier: &'a mut Copier,
    pub(super) args: &'a [Arg],
}

impl RequestTransfer<'_> {
    fn range(&self, piece: &Piece) -> ArgRange {
        ArgRange::in_arg(&self.args[piece.entry()], piece.device(), piece.len())
    }

    /// Waits for the queue, even after a failure, since it may still be copying.
    fn finish(
        &mut self,
        pieces: &[Piece],
        started: Result<(), TransferError>,
    ) -> Result<(), TransferError> {
        let finished = self.copier.finish();
        started?;
        finished.map_err(|error| TransferError::of_any(pieces, error))
    }
}

impl Transfer for RequestTransfer<'_> {
    fn fetch(&mut self, pieces: &[Piece]) -> Result<(), TransferError> {
        let started = pieces.iter().try_for_each(|piece| {
            let range = self.range(piece);
            // SAFETY: a piece is writable for its length until this returns, and `finish` below
            // waits for started copies.
            let read = unsafe { self.request.read(self.copier, range, piece.host()) };
            read.map_err(|error| TransferError::of(piece, error))
        });
        self.finish(pieces, started)
    }

    fn store(&mut self, pieces: &[Piece]) -> Result<(), TransferError> {
        let started = pieces.iter().try_for_each(|piece| {
            let range = self.range(piece);
            // SAFETY: a piece is readable for its length until this returns, and `finish` below
            // waits for started copies.
            let written = unsafe { self.request.write(self.copier, range, piece.host()) };
            written.map_err(|error| TransferError::of(piece, error))
        });
        self.finish(pieces, started)
    }
}
