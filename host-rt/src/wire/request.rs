//! Requests, as they are found on a wire.

use std::ops::Range;

use shared_abi::map_kind::MapKind;
use shared_abi::wire::bounce::BLOCK;

use super::Copier;

/// One argument as taken from a wire.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Device address, or the value itself for `FIRSTPRIVATE_INT`.
    pub addr: u64,
    /// Bytes, or what else the kind makes of it.
    pub size: u64,
    /// What to do with it.
    pub kind: MapKind,
}

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
        /// The request's sequence number.
        seq: u32,
        /// First block of its bounce extent.
        bounce_first: u32,
        /// Blocks of its bounce extent.
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

/// What a poll of a wire found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Poll {
    /// No request.
    Empty,
    /// A request. It is ours; the wire must be told how it ended.
    Taken(Taken),
    /// Text that a device thread prints. There may be more.
    Printed(Vec<u8>),
    /// Something that no device runtime writes. It was passed over.
    ProtocolError(String),
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
