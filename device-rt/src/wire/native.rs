//! Producer of [`native`](shared_abi::wire::native). docs/native-wire.md specifies the protocol.

use core::mem::offset_of;

use shared_abi::image::DeviceConfig;
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::native::{
    ENTRIES_IN_SLOT, MapEntry, PLACE_BOUNCE, PLACE_SLOT, ReplyHeader, RequestHeader, Slot,
    entry_bytes_in_slot, ready_offset, slot_offset, unpack_completion,
};
use shared_abi::words::{Load, Store, SystemWords};

use super::Wire;
use crate::arch::{self, DeviceMemory, Mapped};
use crate::bounce::{self, Extent};
use crate::call::Call;
use crate::claims::{self, Claim};
use crate::host_written::HostWritten;
use crate::lanes::{self, Lanes};
use crate::marshal::native::{Layout, MarshalledIndex};
use crate::wake::wake_host;

/// Calls through a slot for each lane.
pub(crate) struct Native;

impl Wire for Native {
    const KIND: WireKind = WireKind::NATIVE;

    #[inline(always)]
    fn call(runtime: &HostWritten<DeviceConfig>, call: Call) -> Status {
        let count = call.args.count();
        let mut layout = Layout::new(count, call.spaces);
        for i in 0..count {
            if layout.next(call.args.get(i)).is_err() {
                return Status::REFUSED_MAPPING;
            }
        }
        let Some(blocks) = bounce::blocks_for(layout.bounce_bytes(), runtime.get().bounce_blocks)
        else {
            return Status::REFUSED_MAPPING;
        };

        lanes::waterfall(|lanes| {
            // A lane that waits for a slot while it owns an extent would delay the
            // neighbours that have a slot. So lanes that need an extent go one at a time,
            // and the others together.
            // SAFETY: `waterfall` calls this in all of `lanes` together.
            let alone = unsafe { lanes.first(blocks) } != 0;
            if (blocks != 0) != alone || (alone && !lanes.is_first()) {
                return None;
            }
            Some(Request::claim(runtime, call, blocks)?.submit_and_wait())
        })
    }
}

/// A call that owns a slot, and an extent if it needs one.
///
/// It keeps nothing that can be computed again: on a GPU, reading the host's variables and
/// walking the arguments once more is cheaper than registers that keep both while the call
/// waits.
struct Request<'a> {
    runtime: &'a HostWritten<DeviceConfig>,
    call: Call,
    extent: Extent,
    claim: Claim,
}

impl<'a> Request<'a> {
    /// Claims a slot and an extent for the calling lane, together with the other active lanes.
    /// `None` if the others got the free slots.
    #[inline(always)]
    fn claim(runtime: &'a HostWritten<DeviceConfig>, call: Call, blocks: u32) -> Option<Self> {
        let DeviceConfig {
            slots,
            bounce_blocks,
            ..
        } = runtime.get();
        let mut this = Self {
            runtime,
            call,
            extent: Extent::NONE,
            claim: Claim { slot: 0, seq: 0 },
        };
        let (device, pause) = (this.device(), arch::pause);
        this.extent = bounce::claim(
            &device,
            slots,
            bounce_blocks,
            blocks,
            call.home_group,
            pause,
        );
        // A lane with an extent claims alone, since the other active lanes may not need one.
        let lanes = if blocks != 0 {
            Lanes::alone()
        } else {
            Lanes::active_lanes()
        };
        // SAFETY: these are the active lanes, or the lane itself.
        this.claim = unsafe { claims::claim(&device, slots, call.home_group, lanes, pause) }?;
        Some(this)
    }

    /// Publishes the request and waits for the reply.
    #[inline(always)]
    fn submit_and_wait(self) -> Status {
        self.producer().write_header(
            self.claim,
            &RequestHeader {
                seq: self.claim.seq,
                launch: self.call.launch,
                func: self.call.func,
                mapnum: self.call.args.count(),
                dev_num: self.call.device_num,
                bounce_first: self.extent.first,
                bounce_blocks: self.extent.blocks,
            },
        );
        self.write_arguments();
        self.producer().publish(self.claim);
        wake_host(self.runtime);
        let status = self.producer().wait(self.claim, arch::pause);
        self.read_results();
        claims::release(&self.device(), self.claim);
        bounce::release(&self.device(), self.runtime.get().slots, self.extent);
        status
    }

    /// Writes the entries of the call and its marshalled bytes.
    #[inline(always)]
    fn write_arguments(&self) {
        let list = if self.call.args.count() <= ENTRIES_IN_SLOT {
            PLACE_SLOT
        } else {
            PLACE_BOUNCE
        };
        each_entry(self.call, |i, entry, marshalled| {
            let (memory, at) = self.written(list);
            write_entry(&memory, at, i, entry);
            if marshalled.is_some() && MapKind(entry.kind).reads_device() {
                let (memory, base) = self.written(entry.place);
                let (at, from) = (base + entry.offset as usize, entry.addr as *const u8);
                // SAFETY: the caller of `GOMP_target_ext` vouches for the range.
                unsafe { memory.write_bytes(at, from, entry.size as usize) };
            }
        });
    }

    /// Copies back the marshalled bytes that the host changed: those of the entries whose bits are
    /// set in [`ReplyHeader::copied`].
    #[inline(always)]
    fn read_results(&self) {
        if self.call.args.count() == 0 {
            return;
        }
        let copied = self.producer().copied(self.claim);
        if copied == 0 {
            return;
        }
        each_entry(self.call, |_, entry, marshalled| {
            let back = marshalled.is_some_and(|c| copied & (1 << c) != 0);
            if back && MapKind(entry.kind).writes_device() {
                let (memory, base) = if entry.place == PLACE_SLOT {
                    let entries = entry_bytes_in_slot(u64::from(self.call.args.count()));
                    let producer = self.producer();
                    (
                        producer.system,
                        producer.reply_payload(self.claim) - entries,
                    )
                } else {
                    self.written(PLACE_BOUNCE)
                };
                let (at, to) = (base + entry.offset as usize, entry.addr as *mut u8);
                // SAFETY: the caller of `GOMP_target_ext` vouches for the range, which is writable
                // by its kind.
                unsafe { memory.read_bytes(at, to, entry.size as usize) };
            }
        });
    }

    /// The memory of `place` and the base of its offsets, for the device's stores.
    #[inline(always)]
    fn written(&self, place: u16) -> (Mapped, usize) {
        if place == PLACE_SLOT {
            let producer = self.producer();
            (producer.system, producer.request_payload(self.claim))
        } else {
            // SAFETY: the host wrote the address of the bounce area, which it keeps while kernels
            // of this image run.
            let area = unsafe { arch::mapped(self.runtime.get().bounce) };
            (area, self.extent.offset())
        }
    }

    #[inline(always)]
    fn producer(&self) -> Producer<Mapped> {
        let DeviceConfig { wire, slots, .. } = self.runtime.get();
        // SAFETY: the host filled `runtime` with the addresses of a wire, claims and a bounce
        // area of the given size, which it keeps while kernels of
        // this image run.
        Producer::new(unsafe { arch::mapped(wire) }, slots)
    }

    #[inline(always)]
    fn device(&self) -> DeviceMemory {
        // SAFETY: the host wrote the address of the claims, which it keeps while kernels of this
        // image run.
        unsafe { arch::device_memory(self.runtime.get().claims) }
    }
}

/// Walks the layout of a call, whose arguments all fit.
#[inline(always)]
fn each_entry(call: Call, mut visit: impl FnMut(u32, &MapEntry, Option<MarshalledIndex>)) {
    let mut layout = Layout::new(call.args.count(), call.spaces);
    for i in 0..call.args.count() {
        if let Ok((entry, marshalled)) = layout.next(call.args.get(i)) {
            visit(i, &entry, marshalled);
        }
    }
}

/// The device's end of the wire.
#[derive(Clone, Copy, Debug)]
pub struct Producer<S> {
    system: S,
    slots: u32,
}

impl<S: SystemWords> Producer<S> {
    /// The wire of `slots` slots in `system`.
    pub const fn new(system: S, slots: u32) -> Self {
        Self { system, slots }
    }

    /// The memory that the wire lies in.
    pub const fn system(&self) -> &S {
        &self.system
    }

    /// Byte offset of the request's payload.
    pub const fn request_payload(&self, claim: Claim) -> usize {
        slot_offset(self.slots, claim.slot) + offset_of!(Slot, request_payload)
    }

    /// Byte offset of the reply's payload.
    pub const fn reply_payload(&self, claim: Claim) -> usize {
        slot_offset(self.slots, claim.slot) + offset_of!(Slot, reply_payload)
    }

    /// Writes the header of a request, which the host ignores until it is published.
    /// `header.seq` is ignored: the claim has the sequence number.
    #[inline(always)]
    pub fn write_header(&self, claim: Claim, header: &RequestHeader) {
        let at = slot_offset(self.slots, claim.slot) + offset_of!(Slot, request);
        // Relaxed: N1 orders these for the host.
        self.system.store32(
            at + offset_of!(RequestHeader, launch),
            header.launch,
            Store::Relaxed,
        );
        self.system.store64(
            at + offset_of!(RequestHeader, func),
            header.func,
            Store::Relaxed,
        );
        self.system.store32(
            at + offset_of!(RequestHeader, mapnum),
            header.mapnum,
            Store::Relaxed,
        );
        self.system.store32(
            at + offset_of!(RequestHeader, dev_num),
            header.dev_num as u32,
            Store::Relaxed,
        );
        self.system.store32(
            at + offset_of!(RequestHeader, bounce_first),
            header.bounce_first,
            Store::Relaxed,
        );
        self.system.store32(
            at + offset_of!(RequestHeader, bounce_blocks),
            header.bounce_blocks,
            Store::Relaxed,
        );
    }

    /// Publishes the request whose header and payload are written.
    #[inline(always)]
    pub fn publish(&self, claim: Claim) {
        let at = slot_offset(self.slots, claim.slot) + offset_of!(Slot, request);
        // Edge `N1`, publishing end: a host that sees this sequence number sees the header and
        // the payload, in the slot and in the bounce extent.
        self.system.store32(
            at + offset_of!(RequestHeader, seq),
            claim.seq,
            Store::Release,
        );
        // Relaxed: an advisory to poll the slot, whose own sequence number decides.
        self.system
            .store32(ready_offset(claim.slot), claim.seq, Store::Relaxed);
    }

    /// The status of the claim's request, once its reply has arrived.
    #[inline(always)]
    pub fn reply(&self, claim: Claim) -> Option<Status> {
        let at = slot_offset(self.slots, claim.slot) + offset_of!(Slot, reply);
        // Edge `N2`, waiting end: the rest of the reply was stored before the sequence number.
        let completion = self
            .system
            .load64(at + offset_of!(ReplyHeader, seq), Load::Acquire);
        let (seq, status) = unpack_completion(completion);
        (seq == claim.seq).then_some(Status(status))
    }

    /// [`ReplyHeader::copied`] of the reply that was waited for.
    #[inline(always)]
    pub fn copied(&self, claim: Claim) -> u64 {
        let at = slot_offset(self.slots, claim.slot) + offset_of!(Slot, reply);
        // Relaxed: N2 orders it.
        self.system
            .load64(at + offset_of!(ReplyHeader, copied), Load::Relaxed)
    }

    /// Waits for the reply to the claim's request.
    #[inline(always)]
    pub fn wait(&self, claim: Claim, pause: impl Fn(u32)) -> Status {
        let mut attempt = 0;
        loop {
            if let Some(status) = self.reply(claim) {
                return status;
            }
            pause(attempt);
            attempt = attempt.saturating_add(1);
        }
    }
}

/// Writes the `index`-th entry of a list that starts at `at`.
#[inline(always)]
pub fn write_entry(system: &impl SystemWords, at: usize, index: u32, entry: &MapEntry) {
    let at = at + index as usize * size_of::<MapEntry>();
    let tail =
        u64::from(entry.kind) | (u64::from(entry.place) << 16) | (u64::from(entry.offset) << 32);
    // Relaxed: N1 orders these for the host.
    system.store64(at + offset_of!(MapEntry, addr), entry.addr, Store::Relaxed);
    system.store64(at + offset_of!(MapEntry, size), entry.size, Store::Relaxed);
    // Kind, place and offset are one little-endian word: one store, not three.
    system.store64(at + offset_of!(MapEntry, kind), tail, Store::Relaxed);
}

const _: () = assert!(
    offset_of!(MapEntry, place) == offset_of!(MapEntry, kind) + 2
        && offset_of!(MapEntry, offset) == offset_of!(MapEntry, kind) + 4
        && cfg!(target_endian = "little")
);
