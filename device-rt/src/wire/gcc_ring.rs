//! Producer of [`gcc_ring`](shared_abi::wire::gcc_ring).
//!
//! Three faults of the patch's own device code are fixed here: tickets are compared by
//! difference, so the counters may wrap; `consumed` is loaded with acquire order; and the
//! completion word is polled at its own width.

use core::mem::offset_of;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::gcc_ring::{GccRing, GccRingSlot, SLOTS};
use shared_abi::words::{Load, Store, SystemWords, TicketWord};

use super::Wire;
use crate::call::Call;
use crate::host_written::RuntimeConfig;
use crate::marshal::gcc::Prepared;
use crate::wake::wake_host;
use crate::{arch, lanes};

/// Calls through the ring.
pub(crate) struct Ring;

impl Wire for Ring {
    const KIND: WireKind = WireKind::GCC_RING;

    fn call(runtime: &RuntimeConfig, call: Call, report: impl Fn(Status) + Copy) {
        lanes::serialize_lanes(|| report(Self::call_alone(runtime, call)))
    }
}

impl Ring {
    /// A lane that waits for an extent or for its ticket may wait for a neighbour.
    fn call_alone(runtime: &RuntimeConfig, call: Call) -> Status {
        let Some(prepared) = Prepared::new(runtime, call) else {
            return Status::REFUSED_MAPPING;
        };
        let ticket = claim(&prepared.wire(), SLOTS, arch::pause);
        publish(
            &prepared.wire(),
            SLOTS,
            ticket,
            &GccRingSlot {
                signal: prepared.signal(),
                func: call.func,
                mapnum: u64::from(call.args.count()),
                addrs: prepared.addrs(),
                sizes: prepared.sizes(),
                kinds: prepared.kinds(),
                dev_num: call.device_num,
                reserved: 0,
            },
        );
        wake_host(runtime);
        wait(&prepared.area(), prepared.signal_offset(), arch::pause);
        prepared.finish()
    }
}

/// Draws a ticket and waits with `pause` until its slot, one of `slots` ([`SLOTS`] except in
/// tests), is free.
pub fn claim<S: SystemWords + TicketWord>(system: &S, slots: u32, pause: impl Fn(u32)) -> u32 {
    let ticket = system.fetch_add_relaxed(offset_of!(GccRing, next_slot), 1);
    let mut attempt = 0;
    loop {
        // Edge `R3`, claiming end: the host's last use of the slots below the count comes
        // before it.
        let consumed = system.load32(offset_of!(GccRing, consumed), Load::Acquire);
        // Both counters wrap. `consumed` may be ahead of the ticket: the difference is then
        // negative.
        if (ticket.wrapping_sub(consumed) as i32) < slots as i32 {
            return ticket;
        }
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

/// Publishes `request` under `ticket`, which hands the slot to the host.
pub fn publish(system: &impl SystemWords, slots: u32, ticket: u32, request: &GccRingSlot) {
    let at = offset_of!(GccRing, queue) + (ticket % slots) as usize * size_of::<GccRingSlot>();
    // Relaxed: R1 orders these for the host.
    system.store64(
        at + offset_of!(GccRingSlot, func),
        request.func,
        Store::Relaxed,
    );
    system.store64(
        at + offset_of!(GccRingSlot, mapnum),
        request.mapnum,
        Store::Relaxed,
    );
    system.store64(
        at + offset_of!(GccRingSlot, addrs),
        request.addrs,
        Store::Relaxed,
    );
    system.store64(
        at + offset_of!(GccRingSlot, sizes),
        request.sizes,
        Store::Relaxed,
    );
    system.store64(
        at + offset_of!(GccRingSlot, kinds),
        request.kinds,
        Store::Relaxed,
    );
    system.store32(
        at + offset_of!(GccRingSlot, dev_num),
        request.dev_num as u32,
        Store::Relaxed,
    );
    // Edge `R1`, publishing end: a host that sees the signal's address sees the rest.
    system.store64(
        at + offset_of!(GccRingSlot, signal),
        request.signal,
        Store::Release,
    );
}

/// Waits until the host writes the completion word at byte offset `signal` of `memory`; also used
/// by `gcn-queue`.
pub fn wait(memory: &impl SystemWords, signal: usize, pause: impl Fn(u32)) {
    let mut attempt = 0;
    // Edge `R2`, waiting end: what the host copied back was stored before the word.
    while memory.load32(signal, Load::Acquire) == 0 {
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}
