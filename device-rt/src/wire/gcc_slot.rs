//! Producer of [`gcc_slot`](shared_abi::wire::gcc_slot).

use core::mem::offset_of;

use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::claims::ClaimsHeader;
use shared_abi::wire::gcc_slot::GccSlot;
use shared_abi::words::{DeviceWords, Load, Store, SystemWords};

use super::Wire;
use crate::call::Call;
use crate::host_written::RuntimeConfig;
use crate::marshal::gcc::Prepared;
use crate::wake::wake_host;
use crate::{arch, lanes};

/// Calls through the one slot.
pub(crate) struct Single;

impl Wire for Single {
    const KIND: WireKind = WireKind::GCC_SLOT;

    fn call(runtime: &RuntimeConfig, call: Call, report: impl Fn(Status) + Copy) {
        lanes::serialize_lanes(|| report(Self::call_alone(runtime, call)))
    }
}

impl Single {
    /// A lane that waits for an extent or the lock may wait for a neighbour.
    fn call_alone(runtime: &RuntimeConfig, call: Call) -> Status {
        let Some(prepared) = Prepared::new(runtime, call) else {
            return Status::REFUSED_MAPPING;
        };
        lock(&prepared.device(), arch::pause);
        publish(
            &prepared.wire(),
            &GccSlot {
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
        wait(&prepared.wire(), arch::pause);
        unlock(&prepared.device());
        prepared.finish()
    }
}

/// Takes the lock of the slot; waits with `pause` while another thread has it.
pub fn lock(device: &impl DeviceWords, pause: impl Fn(u32)) {
    let mut attempt = 0;
    // Edge `S3`, locking end: see `unlock`.
    while device.fetch_or_acquire(offset_of!(ClaimsHeader, slot_lock), 1) & 1 != 0 {
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

/// Releases the lock.
pub fn unlock(device: &impl DeviceWords) {
    // Edge `S3`, unlocking end: the next owner's stores to the slot come after our
    // last load from it.
    device.fetch_and_release(offset_of!(ClaimsHeader, slot_lock), !1);
}

/// Publishes `request`; the caller holds the lock.
pub fn publish(system: &impl SystemWords, request: &GccSlot) {
    // Relaxed: S1 orders these for the host.
    system.store64(offset_of!(GccSlot, mapnum), request.mapnum, Store::Relaxed);
    system.store64(offset_of!(GccSlot, addrs), request.addrs, Store::Relaxed);
    system.store64(offset_of!(GccSlot, sizes), request.sizes, Store::Relaxed);
    system.store64(offset_of!(GccSlot, kinds), request.kinds, Store::Relaxed);
    system.store32(
        offset_of!(GccSlot, dev_num),
        request.dev_num as u32,
        Store::Relaxed,
    );
    // Edge `S1`, publishing end: a host that sees the function word sees the rest.
    system.store64(offset_of!(GccSlot, func), request.func, Store::Release);
}

/// Waits until the host has completed the request.
pub fn wait(system: &impl SystemWords, pause: impl Fn(u32)) {
    let mut attempt = 0;
    // Edge `S2`, waiting end: what the host copied back was stored before the 0.
    while system.load64(offset_of!(GccSlot, func), Load::Acquire) != 0 {
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}
