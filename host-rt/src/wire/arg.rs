//! The arguments of a request.

use shared_abi::map_kind::MapKind;

/// One argument as taken from a wire.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Device address, or the value itself for `FIRSTPRIVATE_INT`.
    pub addr: u64,
    /// Bytes, or what else the kind makes of it.
    pub size: u64,
    /// What to do with it.
    pub kind: MapKind,
    pub(super) location: ArgLocation,
}

/// Where the bytes of an argument are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgLocation {
    /// At their device address.
    Device,
    /// Carried in the slot, at an offset of the payload of the request.
    Slot(usize, CarriedBit),
    /// Carried in the bounce area, at an offset of it.
    Bounce(usize, CarriedBit),
}

/// The bit of a carried argument in the set of those that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CarriedBit(pub(super) u32);

impl Arg {
    /// An argument whose bytes are at its device address.
    #[must_use]
    pub fn new(addr: u64, size: u64, kind: MapKind) -> Self {
        Self {
            addr,
            size,
            kind,
            location: ArgLocation::Device,
        }
    }
}

/// A range of device memory, and where its bytes are while a request is served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgRange {
    pub(super) addr: u64,
    pub(super) len: usize,
    pub(super) location: ArgLocation,
}

impl ArgRange {
    /// A range that `arg` may contain: at its device address unless all of it is carried.
    #[inline]
    pub(crate) fn in_arg(arg: &Arg, addr: u64, len: usize) -> Self {
        Self {
            addr,
            len,
            location: carried(arg, addr, len).unwrap_or(ArgLocation::Device),
        }
    }

    /// A range that any of `args` may contain.
    pub(crate) fn in_any(args: &[Arg], addr: u64, len: usize) -> Self {
        let carried = args.iter().find_map(|arg| carried(arg, addr, len));
        Self {
            addr,
            len,
            location: carried.unwrap_or(ArgLocation::Device),
        }
    }
}

/// The location of a range that `arg` carries as a whole.
#[inline]
fn carried(arg: &Arg, addr: u64, len: usize) -> Option<ArgLocation> {
    let skip = addr.checked_sub(arg.addr)?;
    let end = skip.checked_add(len as u64)?;
    if end > arg.size {
        return None;
    }
    // At most `arg.size`, which fits the location.
    let skip = skip as usize;
    match arg.location {
        ArgLocation::Device => None,
        ArgLocation::Slot(offset, bit) => Some(ArgLocation::Slot(offset + skip, bit)),
        ArgLocation::Bounce(offset, bit) => Some(ArgLocation::Bounce(offset + skip, bit)),
    }
}
