//! Requests, from the poll that takes them to their completion.

use std::ops::Range;
use std::sync::Arc;

use shared_abi::status::Status;

use super::arg::{ArgLocation, CarriedBit};
use super::gcc::Completion;
use super::memory::Wire;
use super::{Arg, ArgRange, ArgsError, Copier, gcc, gcc_slot, gcn_queue, native};
use crate::device::DeviceError;

/// The words of a request, by family of wires.
#[derive(Debug)]
pub(crate) enum RequestWords {
    Native(native::RequestWords),
    Gcc(gcc::RequestWords),
}

impl From<native::RequestWords> for RequestWords {
    fn from(words: native::RequestWords) -> Self {
        Self::Native(words)
    }
}

impl From<gcc::RequestWords> for RequestWords {
    fn from(words: gcc::RequestWords) -> Self {
        Self::Gcc(words)
    }
}

/// A request that was taken from a wire. Dropping it completes it as failed.
pub(crate) struct Request {
    wire: Arc<Wire>,
    words: RequestWords,
    launch: u32,
    /// Carried arguments that were written, by their bits.
    written: u64,
    is_completed: bool,
}

impl Request {
    /// A request with these words, which a poller of `wire` has taken.
    #[inline]
    pub(super) fn new(wire: &Arc<Wire>, words: RequestWords) -> Self {
        let launch = match &words {
            RequestWords::Native(words) => words.launch,
            RequestWords::Gcc(words) => words.launch(&wire.access.bounce),
        };
        Self {
            wire: Arc::clone(wire),
            words,
            launch,
            written: 0,
            is_completed: false,
        }
    }

    /// The wire that it is on.
    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The function word.
    pub(crate) fn func(&self) -> u64 {
        match &self.words {
            RequestWords::Native(words) => words.func,
            RequestWords::Gcc(words) => words.func,
        }
    }

    fn mapnum(&self) -> u64 {
        match &self.words {
            RequestWords::Native(words) => words.mapnum.into(),
            RequestWords::Gcc(words) => words.mapnum,
        }
    }

    /// Key of the launch that asks; 0 if the wire does not tell.
    pub(crate) fn launch(&self) -> u32 {
        self.launch
    }

    /// Sets the launch that asks, unless the wire told.
    pub(crate) fn set_launch_if_unknown(&mut self, launch: u32) {
        if self.launch == 0 {
            self.launch = launch;
        }
    }

    /// Reads the arguments, at most `limit`, into `args`, which is empty.
    ///
    /// # Errors
    /// They are invalid, or cannot be read.
    #[inline]
    pub(crate) fn read_args(
        &self,
        copier: &mut Copier,
        limit: u64,
        args: &mut Vec<Arg>,
    ) -> Result<(), ArgsError> {
        let count = self.mapnum();
        if count == 0 {
            return Ok(());
        }
        if count > limit {
            return Err(ArgsError::TooMany { count, limit });
        }
        match &self.words {
            RequestWords::Native(words) => native::read_args(&self.wire, words, copier, args),
            RequestWords::Gcc(words) => gcc::read_args(words, copier, args),
        }
    }

    /// The bounce blocks that the request, whose arguments are `args`, keeps until it is completed.
    #[inline]
    pub(crate) fn bounce_blocks(&self, args: &[Arg], copier: &Copier) -> Range<u32> {
        match &self.words {
            RequestWords::Native(words) => words.bounce_blocks(),
            RequestWords::Gcc(words) => words.bounce_blocks(args, copier),
        }
    }

    /// Starts to copy a range of its arguments to `to`.
    ///
    /// # Errors
    /// The host does not reach the range.
    ///
    /// # Safety
    /// `to` is writable for the range's length and left alone until [`Copier::finish`] returns.
    #[inline]
    pub(crate) unsafe fn read(
        &self,
        copier: &mut Copier,
        range: ArgRange,
        to: *mut u8,
    ) -> Result<(), DeviceError> {
        let ArgRange { addr, len, .. } = range;
        // SAFETY: the caller vouches for `to`.
        unsafe {
            match (range.location, &self.words) {
                (ArgLocation::Slot(offset, _), RequestWords::Native(words)) => {
                    native::read_payload(&self.wire, words, offset, to, len);
                }
                (ArgLocation::Bounce(offset, _), _) => copier.read_bounce(offset, to, len),
                _ => copier.fetch(to, addr, len)?,
            }
        }
        Ok(())
    }

    /// Starts to copy to a range of its arguments from `from`.
    ///
    /// # Errors
    /// The host does not reach the range.
    ///
    /// # Safety
    /// `from` is readable for the range's length and unwritten until [`Copier::finish`] returns.
    #[inline]
    pub(crate) unsafe fn write(
        &mut self,
        copier: &mut Copier,
        range: ArgRange,
        from: *const u8,
    ) -> Result<(), DeviceError> {
        let ArgRange { addr, len, .. } = range;
        // SAFETY: the caller vouches for `from`.
        unsafe {
            match (range.location, &self.words) {
                (ArgLocation::Slot(offset, bit), RequestWords::Native(words)) => {
                    native::write_payload(&self.wire, words, offset, from, len);
                    self.note_written(bit);
                }
                (ArgLocation::Bounce(offset, bit), _) => {
                    copier.write_bounce(offset, from, len);
                    self.note_written(bit);
                }
                _ => copier.store(addr, from, len)?,
            }
        }
        Ok(())
    }

    fn note_written(&mut self, CarriedBit(bit): CarriedBit) {
        self.written |= 1 << bit;
    }

    /// Tells the caller how its request ended. If not well, nothing that was written counts.
    ///
    /// # Errors
    /// The device does not let the host reach the caller.
    #[inline]
    pub(crate) fn complete(
        mut self,
        copier: &mut Copier,
        status: Status,
    ) -> Result<(), DeviceError> {
        self.answer(copier, status)
    }

    #[inline]
    fn answer(&mut self, copier: &mut Copier, status: Status) -> Result<(), DeviceError> {
        self.is_completed = true;
        let memory = self.wire.words();
        match &self.words {
            RequestWords::Native(words) => {
                let copied = if status == Status::DONE {
                    self.written
                } else {
                    0
                };
                let (slots, slot, seq) = (self.wire.slots, words.slot, words.seq);
                native::complete(&memory, slots, slot, seq, status, copied);
            }
            RequestWords::Gcc(words) => match words.completion {
                Completion::FunctionWord => gcc_slot::complete(&memory),
                Completion::Slot(slot) => gcn_queue::complete(&memory, slot),
                Completion::Signal(address) => gcc::signal(copier, address)?,
            },
        }
        Ok(())
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.is_completed {
            // With a queue of its own: a thread's may be in the middle of a copy.
            let mut copier = self.wire.access.copier();
            // Its owner, which has lost it, cannot be told of an error.
            let _ = self.answer(&mut copier, Status::FUNCTION_FAILED);
        }
    }
}
