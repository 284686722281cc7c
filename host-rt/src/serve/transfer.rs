//! The bytes of one request's arguments.

use revoff_fn::__private::Reply;
use revoff_fn::RawArg;

use super::{DirectTransfer, RegisteredFunction};
use crate::device::DeviceAddr;
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

    /// Serves the call of `function` by `transfer`, which applies to it, and writes its reply. `None`, and
    /// nothing has happened, if the host cannot access the argument in place.
    pub(super) fn serve_in_place(
        &mut self,
        function: &RegisteredFunction,
        transfer: &dyn DirectTransfer,
    ) -> Option<Result<(), TransferError>> {
        let [_, bytes, reply] = self.args else {
            unreachable!("it applies to calls with these arguments")
        };
        let (address, len) = (DeviceAddr(bytes.addr), bytes.size as usize);
        let mut value = 0;
        let is_served = self
            .copier
            .in_place(address, len, transfer.writes(), &mut |place| {
                // SAFETY: `Device` guarantees that `place` is the host address of the second argument's bytes,
                // valid until this returns, and for writes too if the transfer writes.
                value = function.timed(|| unsafe { transfer.call(self.args, place) });
                usize::try_from(value).unwrap_or(0)
            });
        is_served.then(|| {
            let value = Reply::done(value);
            let range = ArgRange::in_arg(reply, reply.addr, size_of_val(&value));
            let from = (&raw const value).cast();
            // SAFETY: `value`, all of whose bytes are initialised, stays as it is until `finish` has returned.
            let started = unsafe { self.request.write(self.copier, range, from) };
            let written = started.and(self.copier.finish());
            written.map_err(|reason| TransferError::Copy {
                device: DeviceAddr(reply.addr),
                len: reply.size,
                reason,
            })
        })
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
