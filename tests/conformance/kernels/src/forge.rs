//! A broken device: writes invalid data to the wire.

use core::mem::offset_of;

use conformance_calls::forge::{Gcc, Native};
use revoff_device::claims::{Claim, claim};
use revoff_device::host_written::RUNTIME;
use revoff_device::lanes::Lanes;
use revoff_device::shared_abi::wire::WireKind;
use revoff_device::shared_abi::wire::claims::{self, ClaimGroup};
use revoff_device::shared_abi::wire::gcc_ring::{GccRing, GccRingSlot, SLOTS};
use revoff_device::shared_abi::wire::gcc_slot::GccSlot;
use revoff_device::shared_abi::wire::gcn_queue::{self, GcnCall};
use revoff_device::shared_abi::wire::native::{claim_of, next_seq};
use revoff_device::shared_abi::words::{DeviceWords, Load, Store, SystemWords, TicketWord};
use revoff_device::wire::gcn_queue as producer;
use revoff_device::wire::native::{LaneRows, Producer};
use revoff_device::{arch, thread};

/// The delay of a kernel after a request without a reply, so that the host sees the request while
/// the launch can be blamed: 1/2 s.
const LINGER: u64 = 500_000_000;

/// Claims a slot of the `native` wire and ends without a request. Other wires are not affected.
#[revoff_device::kernel]
pub fn die_with_slot() {
    let runtime = RUNTIME.get();
    // SAFETY: the host filled `runtime` with the address of claims that it keeps
    // while kernels of this image run.
    let device = unsafe { arch::device_memory(runtime.claims) };
    // SAFETY: these are the lanes that call this together.
    let claim = unsafe {
        let lanes = Lanes::active_lanes();
        claim(&device, runtime.slots, thread::global(), lanes, arch::pause)
    };
    panic!("dies with slot {}", claim.slot);
}

/// Publishes the requests of `request` and writes the status of the first reply to `status`. Does not
/// wait for a reply if the sequence number is wrong.
///
/// # Safety
/// `request` and `status` are there.
#[revoff_device::kernel]
pub unsafe fn forge_native(request: *const Native, status: *mut u32) {
    // SAFETY: the launcher's promise.
    let request = unsafe { &*request };
    let runtime = RUNTIME.get();
    // SAFETY: the host filled `runtime` with the addresses of memory that it keeps
    // while kernels of this image run; all offsets below come from its layouts.
    let (wire, device, area) = unsafe {
        (
            arch::mapped(runtime.wire),
            arch::device_memory(runtime.claims),
            arch::mapped(runtime.bounce),
        )
    };
    let (group, bit) = claim_of(request.slot);
    let seqs = claims::group_offset(group) + offset_of!(ClaimGroup, seqs) + bit as usize * 4;
    // Relaxed: only this thread uses the slot.
    let last = DeviceWords::load32(&device, seqs, Load::Relaxed);
    let seq = next_seq(last).wrapping_add(request.jump);
    DeviceWords::store32(&device, seqs, seq, Store::Relaxed);

    for (i, entry) in request
        .entries
        .iter()
        .enumerate()
        .take(request.in_bounce as usize)
    {
        for (word, &value) in entry.iter().enumerate() {
            // Relaxed: the fence orders it.
            area.store64(i * size_of_val(entry) + word * 8, value, Store::Relaxed);
        }
    }
    wire.release_fence();
    let producer = Producer::new(wire, runtime.lanes);
    let at = |seq, rank| LaneRows {
        claim: Claim {
            slot: request.slot,
            seq,
        },
        rank,
        count: request.lanes,
    };
    for rank in 0..request.writing {
        for row in 0..request.rows {
            let mut data = request.data[row as usize % request.data.len()];
            if row == 0 && data >> 32 == 0 {
                data |= u64::from(arch::context().launch) << 32;
            }
            let is_missing = rank + 1 == request.writing && row == request.missing;
            let mut rows = producer.request(at(if is_missing { last } else { seq }, rank));
            rows.skip(row);
            rows.push([data as u32, (data >> 32) as u32]);
        }
    }
    arch::wake_host();

    if request.jump != 0 {
        linger();
        return;
    }
    producer.wait(at(seq, 0), |done| done != 0, arch::pause);
    // SAFETY: the launcher's promise.
    unsafe { status.write(producer.reply(at(seq, 0), arch::pause).status.0) };
}

/// Publishes `request`, and waits until it is completed: until `*signal`, which is the completion
/// word if the request names it, is not 0, or on `gcc-slot` until the slot is free. Does not wait
/// for a wrong ticket, or if the completion word is not at `signal`.
///
/// # Safety
/// `request` and `signal` are there.
#[revoff_device::kernel]
pub unsafe fn forge_gcc(request: *const Gcc, signal: *const u32) {
    // SAFETY: the launcher's promise.
    let request = unsafe { &*request };
    let runtime = RUNTIME.get();
    // SAFETY: the host wrote the wire's address, which it keeps while kernels of this image run.
    let wire = unsafe { arch::mapped(runtime.wire) };
    if WireKind(runtime.wire_kind) == WireKind::GCC_SLOT {
        // Relaxed: the function word's store orders it.
        wire.store64(offset_of!(GccSlot, mapnum), request.mapnum, Store::Relaxed);
        wire.store64(offset_of!(GccSlot, addrs), request.addrs, Store::Relaxed);
        wire.store64(offset_of!(GccSlot, sizes), request.sizes, Store::Relaxed);
        wire.store64(offset_of!(GccSlot, kinds), request.kinds, Store::Relaxed);
        wire.store64(offset_of!(GccSlot, func), request.func, Store::Release);
        arch::wake_host();
        wait(|| wire.load64(offset_of!(GccSlot, func), Load::Acquire) == 0);
        return;
    }
    if WireKind(runtime.wire_kind) == WireKind::GCN_QUEUE {
        // SAFETY: the launcher's promise.
        return unsafe { forge_gcn(wire, request, signal) };
    }
    if request.jump != 0 {
        wire.fetch_add_relaxed(offset_of!(GccRing, next_slot), request.jump);
        arch::wake_host();
        linger();
        return;
    }
    let ticket = wire.fetch_add_relaxed(offset_of!(GccRing, next_slot), 1);
    let at = offset_of!(GccRing, queue) + (ticket % SLOTS) as usize * size_of::<GccRingSlot>();
    // Relaxed: the signal's store orders it.
    wire.store64(
        at + offset_of!(GccRingSlot, func),
        request.func,
        Store::Relaxed,
    );
    wire.store64(
        at + offset_of!(GccRingSlot, mapnum),
        request.mapnum,
        Store::Relaxed,
    );
    wire.store64(
        at + offset_of!(GccRingSlot, addrs),
        request.addrs,
        Store::Relaxed,
    );
    wire.store64(
        at + offset_of!(GccRingSlot, sizes),
        request.sizes,
        Store::Relaxed,
    );
    wire.store64(
        at + offset_of!(GccRingSlot, kinds),
        request.kinds,
        Store::Relaxed,
    );
    wire.store64(
        at + offset_of!(GccRingSlot, signal),
        request.signal,
        Store::Release,
    );
    arch::wake_host();
    // SAFETY: the launcher's promise.
    unsafe { wait_for_signal(request, signal) };
}

/// [`forge_gcc`] on `gcn-queue`.
///
/// # Safety
/// `signal` is there.
unsafe fn forge_gcn(wire: arch::Mapped, request: &Gcc, signal: *const u32) {
    if request.jump != 0 {
        producer::draw(&wire, request.jump);
        arch::wake_host();
        return linger();
    }
    let slots = gcn_queue::SLOTS;
    let ticket = producer::draw(&wire, 1);
    producer::claim(&wire, slots, ticket, arch::pause);
    if request.kind != gcn_queue::CALL {
        producer::publish_number(&wire, slots, ticket, b"", request.kind, request.func);
        arch::wake_host();
        return linger();
    }
    let call = GcnCall {
        func: request.func,
        mapnum: request.mapnum,
        addrs: request.addrs,
        sizes: request.sizes,
        kinds: request.kinds,
        dev_num: u64::MAX,
        signal: request.signal,
    };
    if request.signal != 0 {
        producer::publish_call(&wire, slots, ticket, &call);
        arch::wake_host();
        // SAFETY: the caller's promise.
        return unsafe { wait_for_signal(request, signal) };
    }
    producer::publish_call_in_slot(&wire, slots, ticket, &call);
    arch::wake_host();
    producer::wait_in_slot(&wire, slots, ticket, arch::pause);
}

/// # Safety
/// `signal` is there.
unsafe fn wait_for_signal(request: &Gcc, signal: *const u32) {
    if request.signal == signal as u64 {
        // SAFETY: the word exists, in device memory, in a buffer of its own.
        let word = unsafe { arch::device_memory(signal as u64) };
        // Edge R2, waiting end, as in GCC's own code.
        wait(|| DeviceWords::load32(&word, 0, Load::Acquire) != 0);
    } else {
        linger();
    }
}

fn wait(mut done: impl FnMut() -> bool) {
    let mut attempt = 0;
    while !done() {
        arch::pause(attempt);
        attempt += 1;
    }
}

fn linger() {
    let start = thread::clock();
    wait(|| thread::clock().wrapping_sub(start) > LINGER);
}
