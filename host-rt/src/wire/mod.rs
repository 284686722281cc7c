//! The consumers: how the host takes requests from each wire and answers them,
//! one file per wire.
//!
//! A wire has two faces. Its watcher (`Watch`) finds and takes published requests and
//! belongs to whoever watches at the moment. The wire itself (`Wire`) reads the
//! arguments of a request that was taken and completes it, from any thread.
//!
//! A device is not trusted: everything read from a wire is read once, into a
//! value of ours, and checked before use.

pub mod bell;
mod copier;
mod gcc;
pub mod gcc_ring;
pub mod gcc_slot;
pub mod gcn_queue;
pub mod native;
pub mod panic;
mod reserved;

pub(crate) use self::copier::Copier;
pub use self::reserved::Reservation;
pub(crate) use self::reserved::Reserved;

use std::ops::Range;
use std::sync::Arc;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::BLOCK;

use crate::device::MappedMemory;
use crate::error::DeviceError;
use crate::map::Arg;

/// The numbers that a wire is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// Slots of a `native` wire.
    pub(crate) slots: u32,
    /// The turn or ticket before the first.
    pub(crate) first_turn: u32,
}

/// A wire that is attached to a device.
pub(crate) struct Attached {
    /// Where the device finds it.
    pub(crate) address: u64,
    pub(crate) wire: Box<dyn Wire>,
}

/// A wire and what finds its requests.
pub(crate) type TwoFaces = (Attached, Box<dyn Watch>);

/// How a wire is made.
pub(crate) struct Kind {
    pub(crate) kind: WireKind,
    /// Bytes of mapped memory that it needs.
    pub(crate) bytes: fn(&Geometry) -> usize,
    /// Makes it in that memory, which is zeroed; the last argument is the bounce
    /// area.
    pub(crate) attach: fn(MappedMemory, &Geometry, &Arc<MappedMemory>) -> TwoFaces,
}

/// The wires that this host serves.
pub(crate) const KINDS: [Kind; 4] = [
    native::KIND,
    gcc_ring::KIND,
    gcn_queue::KIND,
    gcc_slot::KIND,
];

/// A request that was taken from a wire: what its words said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Function word.
    pub func: u64,
    /// Number of arguments.
    pub mapnum: u64,
    /// Key of the launch that asks; 0 if the wire does not tell.
    pub launch: u32,
    /// Where the rest of the request is, and where the answer goes.
    pub at: At,
}

/// Where a request is on its wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// In a slot of a `native` wire.
    Native {
        /// The slot.
        slot: u32,
        /// The request's turn.
        turn: u32,
        /// First block of its bounce run.
        bounce_first: u32,
        /// Blocks of its bounce run.
        bounce_blocks: u32,
    },
    /// At device addresses, as GCC's wires have it.
    Gcc {
        /// `mapnum` addresses.
        addrs: u64,
        /// `mapnum` sizes.
        sizes: u64,
        /// `mapnum` kinds.
        kinds: u64,
        /// The caller's completion word; 0 where the answer goes to the slot.
        signal: u64,
        /// The slot.
        slot: u32,
    },
}

impl Taken {
    /// The bounce blocks that the request, whose arguments are `args`, keeps until it is completed.
    pub(crate) fn bounce_blocks(&self, args: &[Arg], copier: &Copier) -> Range<u32> {
        match self.at {
            At::Native {
                bounce_first,
                bounce_blocks,
                ..
            } => bounce_first..bounce_first.saturating_add(bounce_blocks),
            At::Gcc { addrs, kinds, .. } => {
                let blocks = |addr, len| {
                    let at = copier.offset_in_bounce(addr, len)?;
                    Some(at / BLOCK..(at + len as usize).div_ceil(BLOCK))
                };
                let Some(first) = blocks(addrs, 8) else {
                    return 0..0;
                };
                let ends = args.iter().filter_map(|arg| blocks(arg.addr, arg.size));
                let ends = ends.chain(blocks(kinds, 2 * self.mapnum));
                let end = ends.map(|blocks| blocks.end).max();
                first.start as u32..end.unwrap_or(first.end) as u32
            }
        }
    }
}

/// What a look at a wire found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Poll {
    /// No request.
    Empty,
    /// A request. It is ours; the wire must be told how it ended.
    Taken(Taken),
    /// Text that a device thread prints. There may be more.
    Printed(Vec<u8>),
    /// Something that no device runtime writes. It was passed over.
    Broken(String),
}

/// Finds requests. One thread at a time has it.
pub(crate) trait Watch: Send {
    /// Looks for a request and takes it. May miss one at a single look; finds it
    /// at one of the next.
    fn poll(&mut self) -> Poll;

    /// As [`poll`](Self::poll), but misses none: for the last look before sleep.
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

/// Where the bytes of an argument are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At its device address.
    Device,
    /// Carried in the slot, at an offset of both payloads; bit of `copied`.
    Slot(usize, u32),
    /// Carried in the bounce area, at an offset of it; bit of `copied`.
    Bounce(usize, u32),
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
