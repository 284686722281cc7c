//! The arguments of a request.

use shared_abi::map_kind::MapKind;

/// One argument of a request, as the wire has it.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Device address, or the value itself for `FIRSTPRIVATE_INT`.
    pub addr: u64,
    /// The number of bytes, unless the kind gives this word another meaning.
    pub size: u64,
    /// How to map it.
    pub kind: MapKind,
    pub(super) location: ArgLocation,
}

/// The location of an argument's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgLocation {
    /// In device memory, at the argument's address.
    Device,
    /// Marshalled in the slot, at this offset in the request's payload.
    Slot(usize, MarshalledBit),
    /// Marshalled in the bounce area, at this offset.
    Bounce(usize, MarshalledBit),
}

/// The bit of a marshalled argument in the set of written arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MarshalledBit(pub(super) u32);

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

/// A range of device memory, and the location of its bytes while a request is served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgRange {
    pub(super) addr: u64,
    pub(super) len: usize,
    pub(super) location: ArgLocation,
}

impl ArgRange {
    /// A range that `arg` may contain. It is in device memory unless `arg` marshals all of it.
    #[inline]
    pub(crate) fn in_arg(arg: &Arg, addr: u64, len: usize) -> Self {
        Self {
            addr,
            len,
            location: marshalled(arg, addr, len).unwrap_or(ArgLocation::Device),
        }
    }

    /// A range that any of `args` may contain. It is in device memory unless one of them marshals
    /// all of it.
    pub(crate) fn in_any(args: &[Arg], addr: u64, len: usize) -> Self {
        let marshalled = args.iter().find_map(|arg| marshalled(arg, addr, len));
        Self {
            addr,
            len,
            location: marshalled.unwrap_or(ArgLocation::Device),
        }
    }
}

/// The location of a range that `arg` marshals completely; `None` if it does not.
#[inline]
fn marshalled(arg: &Arg, addr: u64, len: usize) -> Option<ArgLocation> {
    let skip = addr.checked_sub(arg.addr)?;
    let end = skip.checked_add(len as u64)?;
    if end > arg.size {
        return None;
    }
    // No loss: a marshalled argument, and so `skip`, is smaller than its area.
    let skip = skip as usize;
    match arg.location {
        ArgLocation::Device => None,
        ArgLocation::Slot(offset, bit) => Some(ArgLocation::Slot(offset + skip, bit)),
        ArgLocation::Bounce(offset, bit) => Some(ArgLocation::Bounce(offset + skip, bit)),
    }
}
