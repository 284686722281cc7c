//! Copies argument data that the host cannot reach, for calls on GCC's wires.
//!
//! These wires carry addresses only. So every call claims a bounce extent: a header
//! (with the completion word of `gcc-ring` and `gcn-queue`), the argument arrays, and a copy of
//! the bytes that the host cannot reach. Ranges keep their distances in the extent, so
//! entries that overlap or refer to each other still do.

use core::mem::offset_of;

use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::bounce::BounceHeader;
use shared_abi::words::{Store, SystemWords};

use crate::arch::{self, DeviceMemory, Mapped, Space, Spaces};
use crate::bounce::{self, Extent};
use crate::call::{Args, Call};
use crate::host_written::{REV_OFFLOAD_VAR, RuntimeConfig};

/// The memory of one space that a call's entries span, in whole lines.
#[derive(Clone, Copy)]
struct Hull {
    low: u64,
    high: u64,
}

/// Bytes of a line: ranges keep their address modulo this, and so their alignment.
const LINE: u64 = 64;

impl Hull {
    const EMPTY: Hull = Hull {
        low: u64::MAX,
        high: 0,
    };

    /// Widens the hull by a range; `None` if the range's lines run past the end of the address
    /// space.
    #[inline(always)]
    fn add(&mut self, addr: u64, len: u64) -> Option<()> {
        let end = addr.checked_add(len)?.checked_next_multiple_of(LINE)?;
        self.low = self.low.min(addr & !(LINE - 1));
        self.high = self.high.max(end);
        Some(())
    }

    fn len(&self) -> u64 {
        self.high.saturating_sub(self.low)
    }
}

/// The memory that a call's entries span and the host cannot reach.
#[derive(Clone, Copy)]
struct Hulls {
    local: Hull,
    shared: Hull,
}

impl Hulls {
    /// The hulls of `args`; `None` if no extent could hold a range.
    #[inline(always)]
    fn of(args: Args, spaces: Spaces) -> Option<Self> {
        let mut hulls = Self {
            local: Hull::EMPTY,
            shared: Hull::EMPTY,
        };
        for i in 0..args.count() {
            let (addr, size, kind) = args.get(i);
            if let Some(len) = span(size, kind).filter(|_| addr != 0) {
                match spaces.of(addr) {
                    Space::Global => {}
                    Space::Local => hulls.local.add(addr, len)?,
                    Space::Shared => hulls.shared.add(addr, len)?,
                }
            }
        }
        Some(hulls)
    }
}

/// Bytes that an entry spans at its address; `None` if it has no address.
fn span(size: u64, kind: MapKind) -> Option<u64> {
    match kind.plain() {
        MapKind::FIRSTPRIVATE_INT => None,
        MapKind::ATTACH | MapKind::POINTER | MapKind::ALWAYS_POINTER => {
            // Saturated: `Hull::add` then fails at every address.
            Some(size.saturating_add(8))
        }
        MapKind::STRUCT => Some(0),
        _ => Some(size),
    }
}

/// A call whose arrays and unreachable bytes are in its bounce extent.
///
/// It keeps nothing that can be computed again: on a GPU, reading the host's variables and
/// walking the arguments once more is cheaper than registers that keep both while the call
/// waits.
pub(crate) struct Prepared<'a> {
    runtime: &'a RuntimeConfig,
    call: Call,
    extent: Extent,
}

impl<'a> Prepared<'a> {
    /// Claims an extent for `call` and fills it; `None` if the mapping is refused.
    #[inline(always)]
    pub(crate) fn new(runtime: &'a RuntimeConfig, call: Call) -> Option<Self> {
        let hulls = Hulls::of(call.args, call.spaces)?;
        let bytes = (Self::data_offset(call.args.count()) as u64)
            .checked_add(hulls.local.len())?
            .checked_add(hulls.shared.len())?;
        let (slots, bounce_blocks) = (runtime.slots(), runtime.bounce_blocks());
        let blocks = bounce::blocks_for(u32::try_from(bytes).ok()?, bounce_blocks)?;
        let mut this = Self {
            runtime,
            call,
            extent: Extent::NONE,
        };
        this.extent = bounce::claim(
            &this.device(),
            slots,
            bounce_blocks,
            blocks,
            call.home_group,
            arch::pause,
        );
        this.fill(hulls);
        Some(this)
    }

    /// Writes the header, the arrays and the bytes that the host reads.
    #[inline(always)]
    fn fill(&self, hulls: Hulls) {
        let at = self.extent.offset();
        let count = self.call.args.count();
        let area = self.area();
        // Relaxed, all of it: the publishing store (S1, R1, Q1) orders it.
        area.store32(at + offset_of!(BounceHeader, signal), 0, Store::Relaxed);
        area.store32(
            at + offset_of!(BounceHeader, launch),
            self.call.launch,
            Store::Relaxed,
        );
        let mut kinds = 0;
        for i in 0..count {
            let (addr, size, kind) = self.call.args.get(i);
            let moved = self.moved(hulls, addr, kind);
            // Bytes that only come back are copied too: a call that is not served must
            // find its own bytes in the extent, not an earlier request's.
            if let Some(offset) = moved
                && (kind.reads_device() || kind.writes_device())
            {
                // SAFETY: the caller of `GOMP_target_ext` vouches for the range.
                unsafe { area.write_bytes(at + offset as usize, addr as *const u8, size as usize) };
            }
            let address = moved.map_or(addr, |offset| self.device_address(offset as usize));
            let word = i as usize * 8;
            area.store64(at + Self::addrs_offset() + word, address, Store::Relaxed);
            area.store64(at + Self::sizes_offset(count) + word, size, Store::Relaxed);
            // Four kinds to a word.
            kinds |= u64::from(kind.0) << (i % 4 * 16);
            if i % 4 == 3 || i + 1 == count {
                area.store64(
                    at + Self::kinds_offset(count) + i as usize / 4 * 8,
                    kinds,
                    Store::Relaxed,
                );
                kinds = 0;
            }
        }
    }

    /// Copies the results back and frees the extent.
    #[inline(always)]
    pub(crate) fn finish(self) -> Status {
        // The same hulls as when the extent was filled.
        if let Some(hulls) = Hulls::of(self.call.args, self.call.spaces) {
            for i in 0..self.call.args.count() {
                let (addr, size, kind) = self.call.args.get(i);
                if let Some(offset) = self.moved(hulls, addr, kind)
                    && kind.writes_device()
                {
                    let at = self.extent.offset() + offset as usize;
                    // SAFETY: the caller of `GOMP_target_ext` vouches for the range,
                    // writable as its kind says.
                    unsafe { self.area().read_bytes(at, addr as *mut u8, size as usize) };
                }
            }
        }
        bounce::release(&self.device(), self.runtime.slots(), self.extent);
        // These wires return no status. A typed call learns from its results whether it was
        // served.
        Status::NONE
    }

    /// The wire.
    #[inline(always)]
    pub(crate) fn wire(&self) -> Mapped {
        // SAFETY: the host filled the variable with the address of a wire, which it
        // keeps while kernels of this image run.
        unsafe { arch::mapped(REV_OFFLOAD_VAR.get()) }
    }

    /// Claims, and the lock of `gcc-slot`.
    #[inline(always)]
    pub(crate) fn device(&self) -> DeviceMemory {
        // SAFETY: the host wrote the address of the claims, which it keeps while kernels of this
        // image run.
        unsafe { arch::device_memory(self.runtime.claims()) }
    }

    /// The bounce area.
    #[inline(always)]
    pub(crate) fn area(&self) -> Mapped {
        // SAFETY: the host wrote the address of the bounce area, which it keeps while kernels of
        // this image run.
        unsafe { arch::mapped(self.runtime.bounce()) }
    }

    /// Byte offset in the extent of the copy of `addr`, if the host cannot reach `addr`.
    #[inline(always)]
    fn moved(&self, hulls: Hulls, addr: u64, kind: MapKind) -> Option<u32> {
        span(0, kind)?;
        let offset = match self.call.spaces.of(addr) {
            _ if addr == 0 => return None,
            Space::Global => return None,
            Space::Local => addr - hulls.local.low,
            Space::Shared => hulls.local.len() + (addr - hulls.shared.low),
        };
        // An extent's length fits 32 bits: see `new`.
        Some(Self::data_offset(self.call.args.count()) as u32 + offset as u32)
    }

    const fn addrs_offset() -> usize {
        size_of::<BounceHeader>()
    }

    const fn sizes_offset(count: u32) -> usize {
        Self::addrs_offset() + count as usize * 8
    }

    const fn kinds_offset(count: u32) -> usize {
        Self::sizes_offset(count) + count as usize * 8
    }

    const fn data_offset(count: u32) -> usize {
        (Self::kinds_offset(count) + count.div_ceil(4) as usize * 8).next_multiple_of(LINE as usize)
    }

    fn device_address(&self, offset: usize) -> u64 {
        self.runtime.bounce() + (self.extent.offset() + offset) as u64
    }

    /// Device address of the array of addresses.
    pub(crate) fn addrs(&self) -> u64 {
        self.device_address(Self::addrs_offset())
    }

    /// Device address of the array of sizes.
    pub(crate) fn sizes(&self) -> u64 {
        self.device_address(Self::sizes_offset(self.call.args.count()))
    }

    /// Device address of the array of kinds.
    pub(crate) fn kinds(&self) -> u64 {
        self.device_address(Self::kinds_offset(self.call.args.count()))
    }

    /// Byte offset of the completion word in the bounce area.
    pub(crate) fn signal_offset(&self) -> usize {
        self.extent.offset() + offset_of!(BounceHeader, signal)
    }

    /// Device address of the completion word.
    pub(crate) fn signal(&self) -> u64 {
        self.device_address(offset_of!(BounceHeader, signal))
    }
}
