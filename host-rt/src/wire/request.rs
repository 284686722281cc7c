//! Requests, from the poll that takes them to their completion.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use shared_abi::status::Status;

use super::arg::{ArgLocation, MarshalledBit};
use super::gcc::Completion;
use super::memory::Wire;
use super::{Arg, ArgRange, ArgsError, Copier, gcc, gcc_slot, gcn_queue, native};
use crate::base::catch_panic::catch_panic;
use crate::device::{DeviceAddr, DeviceError};

/// The words of a request, by family of wires.
#[derive(Debug)]
pub(crate) enum RequestWords {
    Native(native::NativeRequest),
    Gcc(gcc::GccRequest),
}

impl From<native::NativeRequest> for RequestWords {
    fn from(words: native::NativeRequest) -> Self {
        Self::Native(words)
    }
}

impl From<gcc::GccRequest> for RequestWords {
    fn from(words: gcc::GccRequest) -> Self {
        Self::Gcc(words)
    }
}

/// A request taken from a wire. Dropping it completes it as failed.
pub(crate) struct Request {
    wire: Arc<Wire>,
    words: RequestWords,
    launch: u32,
    /// The written marshalled arguments, one bit each.
    written: u64,
    /// Rows of a reply on `native` that are written with its completion.
    held: native::HeldRows,
    is_completed: bool,
}

impl Request {
    /// The request with these words, which a poller of `wire` has taken.
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
            held: native::HeldRows::default(),
            is_completed: false,
        }
    }

    /// The wire of the request.
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
            RequestWords::Native(words) => words.meta.mapnum().into(),
            RequestWords::Gcc(words) => words.mapnum,
        }
    }

    /// Its words, if it is on `native`.
    pub(crate) fn native(&self) -> Option<&native::NativeRequest> {
        match &self.words {
            RequestWords::Native(words) => Some(words),
            RequestWords::Gcc(_) => None,
        }
    }

    /// The word that completes it, if it is on one of GCC's wires.
    pub(crate) fn gcc_completion(&self) -> Option<Completion> {
        match &self.words {
            RequestWords::Native(_) => None,
            RequestWords::Gcc(words) => Some(words.completion),
        }
    }

    /// The slot that the request keeps until it completes, if there is a fixed number of them.
    pub(crate) fn slot(&self) -> Option<u32> {
        self.wire.keeps_slots.then_some(match &self.words {
            RequestWords::Native(words) => words.lane.slot,
            RequestWords::Gcc(_) => 0,
        })
    }

    /// Key of the launch that made the request; 0 if the wire does not contain it.
    pub(crate) fn launch(&self) -> u32 {
        self.launch
    }

    /// Sets the launch, unless the wire contains it.
    pub(crate) fn set_launch_if_unknown(&mut self, launch: u32) {
        if self.launch == 0 {
            self.launch = launch;
        }
    }

    /// Reads the arguments, at most `limit`, into the empty `args`.
    ///
    /// # Errors
    /// If they are too many or invalid, or cannot be read.
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

    /// The bounce blocks that the request with arguments `args` keeps until it completes.
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
    /// If the host cannot access the range.
    ///
    /// # Safety
    /// `to` is writable for the range's length, and nothing else accesses it until
    /// [`Copier::finish`] returns.
    #[inline]
    pub(crate) unsafe fn read(
        &self,
        copier: &mut Copier,
        range: ArgRange,
        to: *mut u8,
    ) -> Result<(), DeviceError> {
        let ArgRange { addr, len, .. } = range;
        // SAFETY: the caller ensures that `to` is writable for `len` bytes, and unused until
        // `finish`.
        unsafe {
            match range.location {
                ArgLocation::Device => copier.fetch(to, DeviceAddr(addr), len)?,
                ArgLocation::Slot(slot, _) => {
                    let words = self.native_words();
                    native::read_payload(&self.wire, words, slot, range.skip, to, len);
                }
                ArgLocation::Bounce(offset, _) => {
                    copier.read_bounce(offset + range.skip, to, len);
                }
            }
        }
        Ok(())
    }

    /// Starts to copy from `from` to a range of its arguments.
    ///
    /// # Errors
    /// If the host cannot access the range.
    ///
    /// # Safety
    /// `from` is readable for the range's length, and nothing writes it until [`Copier::finish`]
    /// returns.
    #[inline]
    pub(crate) unsafe fn write(
        &mut self,
        copier: &mut Copier,
        range: ArgRange,
        from: *const u8,
    ) -> Result<(), DeviceError> {
        let ArgRange { addr, len, .. } = range;
        // SAFETY: the caller ensures that `from` is readable for `len` bytes, and unwritten until
        // `finish`.
        unsafe {
            match range.location {
                ArgLocation::Device => copier.store(DeviceAddr(addr), from, len)?,
                ArgLocation::Slot(slot, bit) => {
                    let is_first = !self.is_written(bit);
                    let RequestWords::Native(words) = &self.words else {
                        unreachable!("all arguments of GCC's wires are at addresses")
                    };
                    let (wire, held, skip) = (&self.wire, &mut self.held, range.skip);
                    let from = ptr::slice_from_raw_parts(from, len);
                    native::write_payload(wire, words, held, slot, is_first, skip, from);
                    self.mark_written(bit);
                }
                ArgLocation::Bounce(offset, bit) => {
                    copier.write_bounce(offset + range.skip, from, len);
                    self.mark_written(bit);
                }
            }
        }
        Ok(())
    }

    /// The words of a request with arguments in its slot.
    fn native_words(&self) -> &native::NativeRequest {
        match &self.words {
            RequestWords::Native(words) => words,
            RequestWords::Gcc(_) => unreachable!("all arguments of GCC's wires are at addresses"),
        }
    }

    fn is_written(&self, MarshalledBit(bit): MarshalledBit) -> bool {
        self.written & (1 << bit) != 0
    }

    fn mark_written(&mut self, MarshalledBit(bit): MarshalledBit) {
        self.written |= 1 << bit;
    }

    /// Completes the request with `status`. Unless that is [`Status::DONE`], the reply marks no
    /// argument as written.
    ///
    /// # Errors
    /// If the completion word cannot be written.
    #[inline]
    pub(crate) fn complete(
        mut self,
        copier: &mut Copier,
        status: Status,
    ) -> Result<(), DeviceError> {
        self.write_completion(copier, status)
    }

    /// Drops the request, which another thread has completed.
    pub(crate) fn completed_elsewhere(mut self) {
        self.is_completed = true;
    }

    #[inline]
    fn write_completion(&mut self, copier: &mut Copier, status: Status) -> Result<(), DeviceError> {
        self.is_completed = true;
        let memory = self.wire.words();
        match &self.words {
            RequestWords::Native(words) => {
                let written = if status == Status::DONE {
                    self.written
                } else {
                    0
                };
                let warps = &self.wire.warps;
                native::write_held(memory, warps, words, &self.held);
                native::complete(memory, warps, words, status, written);
            }
            RequestWords::Gcc(words) => match words.completion {
                Completion::FunctionWord => gcc_slot::complete(&memory),
                Completion::Slot(slot) => gcn_queue::complete(&memory, slot),
                Completion::Signal(address) => gcc::complete_at(copier, address)?,
            },
        }
        Ok(())
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.is_completed {
            // Not with the thread's copier, whose queue may still be copying.
            let mut copier = self.wire.access.copier();
            if let Err(error) = self.write_completion(&mut copier, Status::FUNCTION_FAILED) {
                let (wire, func, launch) = (self.wire.name, self.func(), self.launch);
                // The thread may be unwinding.
                catch_panic(|| {
                    tracing::error!(
                        wire,
                        func,
                        launch,
                        %error,
                        "cannot complete a dropped request: its caller waits forever"
                    );
                });
            }
        }
    }
}
