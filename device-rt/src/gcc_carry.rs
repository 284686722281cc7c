//! What a call on one of GCC's wires carries, and the copying.
//!
//! These wires carry addresses only. So every call takes a bounce run: a header
//! (with the completion word of `gcc-ring`), the argument arrays, and a copy of
//! whatever the host cannot reach. Ranges keep their distances in the run, so
//! entries that overlap or refer to each other still do.

use core::mem::offset_of;

use shared_abi::image::Runtime;
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::bounce::BounceHeader;
use shared_abi::words::{Store, SystemWords};

use crate::arch::{self, DeviceMemory, Mapped, Space, Spaces};
use crate::bounce::{self, Run};
use crate::carry::Args;
use crate::runtime::REV_OFFLOAD_VAR;
use crate::wire::{Call, ring_if_asleep};

/// The memory of one space that a call's entries span, in whole lines.
#[derive(Clone, Copy)]
struct Hull {
    low: u64,
    high: u64,
}

/// Bytes of a line: ranges keep their address modulo this, and with it their
/// alignment.
const LINE: u64 = 64;

impl Hull {
    const EMPTY: Hull = Hull {
        low: u64::MAX,
        high: 0,
    };

    /// Widens the hull by a range; `None` where the range's lines go past the end
    /// of the address space.
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

/// What a call's entries span of the memory that the host cannot reach.
#[derive(Clone, Copy)]
struct Hulls {
    local: Hull,
    shared: Hull,
}

impl Hulls {
    /// Those of `args`; `None` where a range cannot be carried whatever the room.
    fn of(args: Args, spaces: Spaces) -> Option<Self> {
        let mut hulls = Self {
            local: Hull::EMPTY,
            shared: Hull::EMPTY,
        };
        for i in 0..args.count() {
            let (addr, size, kind) = args.get(i);
            if let Some(len) = extent(size, kind).filter(|_| addr != 0) {
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

/// Bytes that an entry spans at its address, or `None` where that is none.
fn extent(size: u64, kind: MapKind) -> Option<u64> {
    match MapKind(kind.base()) {
        MapKind::FIRSTPRIVATE_INT => None,
        MapKind::ATTACH | MapKind::POINTER | MapKind::ALWAYS_POINTER => {
            // Saturated, no address has room for it: `Hull::add` refuses.
            Some(size.saturating_add(8))
        }
        MapKind::STRUCT => Some(0),
        _ => Some(size),
    }
}

/// A call whose arrays and unreachable bytes stand in its bounce run.
pub(crate) struct Prepared {
    call: Call,
    pub(crate) wire: Mapped,
    pub(crate) device: DeviceMemory,
    pub(crate) area: Mapped,
    bell: Mapped,
    area_base: u64,
    slots: u32,
    run: Run,
    hulls: Hulls,
}

impl Prepared {
    /// Takes a run for `call` and fills it; `None` where the mapping is refused.
    pub(crate) fn new(runtime: &Runtime, call: Call) -> Option<Self> {
        let count = call.args.count();
        let hulls = Hulls::of(call.args, call.spaces)?;
        let bytes = (Self::data_offset(count) as u64)
            .checked_add(hulls.local.len())?
            .checked_add(hulls.shared.len())?;
        let blocks = bounce::blocks_for(bytes, runtime.bounce_blocks)?;
        // SAFETY: the host filled `runtime` and the variable with the addresses
        // of a wire, claims, a bounce area and a bell of the given geometry,
        // which it keeps while kernels of this image run.
        let (wire, device, area, bell) = unsafe {
            (
                arch::mapped(REV_OFFLOAD_VAR.get()),
                arch::device_memory(runtime.claims),
                arch::mapped(runtime.bounce),
                arch::mapped(runtime.bell),
            )
        };
        let run = bounce::claim(
            &device,
            runtime.slots,
            runtime.bounce_blocks,
            blocks,
            call.hint,
            arch::pause,
        );
        let area_base = runtime.bounce;
        let this = Self {
            call,
            wire,
            device,
            area,
            bell,
            area_base,
            slots: runtime.slots,
            run,
            hulls,
        };
        this.fill();
        Some(this)
    }

    /// Writes the header, the arrays and what the host is to read.
    fn fill(&self) {
        let at = self.run.offset();
        let count = self.call.args.count();
        let area = &self.area;
        // Relaxed, all of it: the publishing store (S1, R1) orders it.
        area.store32(at + offset_of!(BounceHeader, signal), 0, Store::Relaxed);
        area.store32(
            at + offset_of!(BounceHeader, launch),
            self.call.launch,
            Store::Relaxed,
        );
        let mut kinds = 0;
        for i in 0..count {
            let (addr, size, kind) = self.call.args.get(i);
            let moved = self.moved(addr, kind);
            area.store64(
                at + Self::addrs_offset() + i * 8,
                moved.unwrap_or(addr),
                Store::Relaxed,
            );
            area.store64(at + Self::sizes_offset(count) + i * 8, size, Store::Relaxed);
            // Four kinds to a word.
            kinds |= u64::from(kind.0) << (i % 4 * 16);
            if i % 4 == 3 || i + 1 == count {
                area.store64(
                    at + Self::kinds_offset(count) + i / 4 * 8,
                    kinds,
                    Store::Relaxed,
                );
                kinds = 0;
            }
            // What comes back is copied out too: a call that nobody serves must
            // find its own bytes in the run, not an earlier request's.
            if let Some(moved) = moved
                && (kind.reads_device() || kind.writes_device())
            {
                let at = (moved - self.area_base) as usize;
                // SAFETY: the caller of `GOMP_target_ext` vouches for the range.
                unsafe { area.write_bytes(at, addr as *const u8, size as usize) };
            }
        }
    }

    /// Copies results back and gives the run back.
    pub(crate) fn finish(self) -> Status {
        for i in 0..self.call.args.count() {
            let (addr, size, kind) = self.call.args.get(i);
            if let Some(moved) = self.moved(addr, kind)
                && kind.writes_device()
            {
                let at = (moved - self.area_base) as usize;
                // SAFETY: the caller of `GOMP_target_ext` vouches for the range,
                // writable as its kind says.
                unsafe { self.area.read_bytes(at, addr as *mut u8, size as usize) };
            }
        }
        bounce::release(&self.device, self.slots, self.run);
        // These wires bring no status back. A typed call learns from its results
        // whether it was served.
        Status::NONE
    }

    /// Where the host finds what is at `addr`, if it cannot reach it there.
    fn moved(&self, addr: u64, kind: MapKind) -> Option<u64> {
        extent(0, kind)?;
        let base =
            self.area_base + (self.run.offset() + Self::data_offset(self.call.args.count())) as u64;
        match self.call.spaces.of(addr) {
            _ if addr == 0 => None,
            Space::Global => None,
            Space::Local => Some(base + (addr - self.hulls.local.low)),
            Space::Shared => Some(base + self.hulls.local.len() + (addr - self.hulls.shared.low)),
        }
    }

    /// Wakes the host if it sleeps; the request has been published.
    pub(crate) fn ring(&self) {
        if arch::HAS_BELL {
            ring_if_asleep(&self.bell, arch::ring);
        }
    }

    const fn addrs_offset() -> usize {
        size_of::<BounceHeader>()
    }

    const fn sizes_offset(count: usize) -> usize {
        Self::addrs_offset() + count * 8
    }

    const fn kinds_offset(count: usize) -> usize {
        Self::sizes_offset(count) + count * 8
    }

    const fn data_offset(count: usize) -> usize {
        (Self::kinds_offset(count) + count.div_ceil(4) * 8).next_multiple_of(LINE as usize)
    }

    fn device_address(&self, offset: usize) -> u64 {
        self.area_base + (self.run.offset() + offset) as u64
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
        self.run.offset() + offset_of!(BounceHeader, signal)
    }

    /// Device address of the completion word.
    pub(crate) fn signal(&self) -> u64 {
        self.area_base + self.signal_offset() as u64
    }
}
