//! What a wire is.

use std::sync::Arc;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;

use super::{Arg, Copier, Place, Poll, Taken};
use crate::device::{DeviceError, MappedMemory};

/// The numbers that a wire is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireConfig {
    /// Slots of a `native` wire.
    pub(crate) slots: u32,
    /// The sequence number or ticket before the first.
    pub(crate) initial_seq: u32,
}

/// A wire that is attached to a device.
pub(crate) struct Attached {
    /// Where the device finds it.
    pub(crate) address: u64,
    pub(crate) wire: Box<dyn Wire>,
}

/// A wire in its two parts, of which one thread at a time has the second.
pub(crate) struct WireParts {
    /// Reads and completes requests.
    pub(crate) transport: Attached,
    /// Finds them.
    pub(crate) poller: Box<dyn PollWire>,
}

/// How a wire is made.
pub(crate) struct Kind {
    pub(crate) kind: WireKind,
    /// Bytes of mapped memory that it needs.
    pub(crate) bytes: fn(&WireConfig) -> usize,
    /// Makes it in that memory, which is zeroed; the last argument is the bounce
    /// area.
    pub(crate) attach: fn(MappedMemory, &WireConfig, &Arc<MappedMemory>) -> WireParts,
}

/// Finds requests. One thread at a time has it.
pub(crate) trait PollWire: Send {
    /// Looks for a request and takes it. May miss one at first, and finds it
    /// at one of the next polls.
    fn poll(&mut self) -> Poll;

    /// As [`poll`](Self::poll), but misses none: for the last poll before sleep.
    fn poll_all(&mut self) -> Poll {
        self.poll()
    }

    /// Looks for what is printed and leaves requests where they are.
    fn poll_text(&mut self) -> Poll {
        Poll::Empty
    }

    /// As [`poll`](Self::poll), but leaves what is printed where it is.
    fn poll_requests(&mut self) -> Poll {
        self.poll()
    }
}

/// Serves requests that were taken.
pub(crate) trait Wire: Send + Sync {
    /// The wire's name.
    fn name(&self) -> &'static str;

    /// Its slots, if a request keeps one until it is completed and all launches share them.
    fn slots(&self) -> Option<u32> {
        None
    }

    /// Reads the arguments of `taken`, at most `limit`, and where their bytes are.
    ///
    /// # Errors
    /// They make no sense, or cannot be read.
    fn read_args(
        &self,
        taken: &Taken,
        copier: &mut Copier,
        limit: u64,
        args: &mut Vec<Arg>,
        places: &mut Vec<Place>,
    ) -> Result<(), String>;

    /// Copies `len` bytes that the request carries in its slot to `to`.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes; `offset + len` is at most the payload's
    /// size.
    unsafe fn read_slot(&self, _taken: &Taken, _offset: usize, _to: *mut u8, _len: usize) {
        unreachable!("this wire's arguments are never in a slot: `read_args` says so")
    }

    /// Copies `len` bytes to the reply's payload.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes; `offset + len` is at most the payload's
    /// size.
    unsafe fn write_slot(&self, _taken: &Taken, _offset: usize, _from: *const u8, _len: usize) {
        unreachable!("this wire's arguments are never in a slot: `read_args` says so")
    }

    /// Tells the caller how its request ended, and which carried ranges to take.
    ///
    /// # Errors
    /// The device does not let the host reach the caller.
    fn complete(
        &self,
        taken: &Taken,
        copier: &mut Copier,
        status: Status,
        copied: u64,
    ) -> Result<(), DeviceError>;
}
