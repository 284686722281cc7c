//! The arguments of a request.

use shared_abi::map_kind::MapKind;
use shared_abi::wire::native::ROW_DATA;

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
    /// Marshalled in the slot.
    Slot(SlotRange, MarshalledBit),
    /// Marshalled in the bounce area, at this offset.
    Bounce(usize, MarshalledBit),
}

/// The rows of a marshalled argument in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotRange {
    /// First row in the request; 0 if the kind does not read.
    pub(super) request_row: u32,
    /// First row in the reply; 0 if the kind does not write.
    pub(super) reply_row: u32,
    /// Bytes of the argument.
    pub(super) size: usize,
}

impl SlotRange {
    /// The number of rows.
    pub(super) fn rows(self) -> u32 {
        self.size.div_ceil(ROW_DATA) as u32
    }

    /// Panics unless `len` bytes from `skip` on are in the range.
    pub(super) fn assert_contains(self, skip: usize, len: usize) {
        assert!(skip.checked_add(len).is_some_and(|end| end <= self.size));
    }
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

    /// Whether its bytes are at its device address while the request is served.
    pub(crate) fn is_in_device_memory(&self) -> bool {
        self.location == ArgLocation::Device
    }
}

/// A range of device memory, and the location of its bytes while a request is served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgRange {
    pub(super) addr: u64,
    pub(super) len: usize,
    pub(super) location: ArgLocation,
    /// Bytes of the location before the range.
    pub(super) skip: usize,
}

impl ArgRange {
    /// A range that `arg` may contain. It is in device memory unless `arg` marshals all of it.
    #[inline]
    pub(crate) fn in_arg(arg: &Arg, addr: u64, len: usize) -> Self {
        Self::marshalled(arg, addr, len).unwrap_or_else(|| Self::in_device(addr, len))
    }

    /// A range that any of `args` may contain. It is in device memory unless one of them marshals
    /// all of it.
    pub(crate) fn in_any(args: &[Arg], addr: u64, len: usize) -> Self {
        let marshalled = args.iter().find_map(|arg| Self::marshalled(arg, addr, len));
        marshalled.unwrap_or_else(|| Self::in_device(addr, len))
    }

    const fn in_device(addr: u64, len: usize) -> Self {
        Self {
            addr,
            len,
            location: ArgLocation::Device,
            skip: 0,
        }
    }

    /// A range that `arg` marshals completely; `None` if it does not.
    #[inline]
    fn marshalled(arg: &Arg, addr: u64, len: usize) -> Option<Self> {
        let skip = addr.checked_sub(arg.addr)?;
        let end = skip.checked_add(len as u64)?;
        (end <= arg.size && arg.location != ArgLocation::Device).then_some(Self {
            addr,
            len,
            location: arg.location,
            // No loss: a marshalled argument, and so `skip`, is smaller than its area.
            skip: skip as usize,
        })
    }
}
