//! Kernels that use a queue of their launch, like GCC's for AMD GPUs.

use core::mem::offset_of;

use conformance_calls::Spoken;
use revoff_device::shared_abi::wire::gcn_queue::{GcnCall, GcnMessage, GcnQueue, INTEGER, SLOTS};
use revoff_device::shared_abi::words::{Store, SystemWords};
use revoff_device::wire::gcn_queue as producer;
use revoff_device::{arch, lanes, thread};

/// Each thread prints a number, and calls a function without arguments, as often as `spoken`
/// requests. The first one to draw a ticket writes it to `spoken`.
///
/// # Safety
/// `queue` is the address of a queue, and `spoken` is there.
#[revoff_device::kernel]
pub unsafe fn speak(queue: u64, spoken: *mut Spoken) {
    // SAFETY: the launcher's promise.
    let (queue, func, rounds) = unsafe { (arch::mapped(queue), (*spoken).func, (*spoken).rounds) };
    let me = thread::global();
    for round in 0..rounds {
        // A lane that waits for its ticket may wait for its neighbour's.
        lanes::serialize_lanes(|| {
            let ticket = producer::draw(&queue, 2);
            if me == 0 && round == 0 {
                // SAFETY: the launcher's promise; no other thread writes the ticket.
                unsafe { (*spoken).ticket = ticket };
            }
            let number = u64::from(me) * 1000 + u64::from(round);
            producer::claim(&queue, SLOTS, ticket, arch::pause);
            producer::publish_number(&queue, SLOTS, ticket, b"own ", INTEGER, number);
            let ticket = ticket.wrapping_add(1);
            let call = GcnCall {
                func,
                mapnum: 0,
                addrs: 0,
                sizes: 0,
                kinds: 0,
                dev_num: 0,
                signal: 0,
            };
            producer::claim(&queue, SLOTS, ticket, arch::pause);
            producer::publish_call_in_slot(&queue, SLOTS, ticket, &call);
            producer::wait_in_slot(&queue, SLOTS, ticket, arch::pause);
        });
    }
}

/// Makes the queue look as if it had held `count` messages that are lost; with 0, as if unowned
/// slots had contents.
///
/// # Safety
/// `queue` is the address of a queue.
#[revoff_device::kernel]
pub unsafe fn erase(queue: u64, count: u64) {
    // SAFETY: the launcher's promise.
    let queue = unsafe { arch::mapped(queue) };
    for counter in [
        offset_of!(GcnQueue, next_output),
        offset_of!(GcnQueue, consumed),
    ] {
        queue.store32(counter, count as u32, Store::Relaxed);
    }
    let slots = if count == 0 { SLOTS } else { 0 };
    for slot in 0..slots as usize {
        let at = offset_of!(GcnQueue, queue) + slot * size_of::<GcnMessage>();
        queue.store32(at + offset_of!(GcnMessage, written), 1, Store::Relaxed);
    }
}

/// Returns `value`, and leaves a ticket without a message.
///
/// # Safety
/// `queue` is the address of a queue.
#[revoff_device::kernel]
pub unsafe fn leave_with(queue: u64, value: u64) {
    // SAFETY: the launcher's promise.
    let queue = unsafe { arch::mapped(queue) };
    producer::draw(&queue, 1);
    queue.store32(
        offset_of!(GcnQueue, return_value),
        value as u32,
        Store::Relaxed,
    );
}
