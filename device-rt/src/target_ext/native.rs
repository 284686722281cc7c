//! A call on the `native` wire.

use shared_abi::image::Runtime;
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::native::{
    ENTRIES_IN_SLOT, MapEntry, PLACE_SLOT, RequestHeader, entry_bytes_in_slot,
};
use shared_abi::words::SystemWords;

use super::Call;
use crate::arch;
use crate::bounce::{self, Run};
use crate::carry::{CarriedIndex, Plan};
use crate::claims;
use crate::runtime::ICVS;
use crate::wire::native::{Producer, write_entry};
use crate::wire::ring_if_asleep;

pub(super) fn call(runtime: &Runtime, call: Call) -> Status {
    let count = call.args.count();
    let Ok(mapnum) = u32::try_from(count) else {
        return Status::REFUSED_MAPPING;
    };

    let mut plan = Plan::new(count, call.spaces);
    for i in 0..count {
        if plan.next(call.args.get(i)).is_err() {
            return Status::REFUSED_MAPPING;
        }
    }
    let Some(blocks) = bounce::blocks_for(plan.bounce_bytes(), runtime.bounce_blocks) else {
        return Status::REFUSED_MAPPING;
    };

    // SAFETY: the host filled `runtime` with the addresses of a wire, claims, a
    // bounce area and a bell of the given geometry, which it keeps while kernels
    // of this image run.
    let (wire, device, area, bell) = unsafe {
        (
            arch::mapped(runtime.wire),
            arch::device_memory(runtime.claims),
            arch::mapped(runtime.bounce),
            arch::mapped(runtime.bell),
        )
    };
    let slots = runtime.slots;
    let run = bounce::claim(
        &device,
        slots,
        runtime.bounce_blocks,
        blocks,
        call.hint,
        arch::pause,
    );
    let claim = claims::claim(&device, slots, call.hint, arch::pause);
    let producer = Producer::new(wire, slots);

    // Entries and carried bytes. A place is an offset in the payload or the run.
    let entries_in_slot = count <= ENTRIES_IN_SLOT as usize;
    each_entry(call, |i, entry, carried| {
        if entries_in_slot {
            write_entry(&wire, producer.request_payload(claim), i, entry);
        } else {
            write_entry(&area, run.offset(), i, entry);
        }
        if carried.is_some() && MapKind(entry.kind).reads_device() {
            let (memory, base) = if entry.place == PLACE_SLOT {
                (&wire, producer.request_payload(claim))
            } else {
                (&area, run.offset())
            };
            // SAFETY: the caller of `GOMP_target_ext` vouches for the range.
            unsafe {
                memory.write_bytes(
                    base + entry.offset as usize,
                    entry.addr as *const u8,
                    entry.size as usize,
                );
            }
        }
    });

    producer.publish(
        claim,
        &RequestHeader {
            turn: claim.turn,
            launch: call.launch,
            func: call.func,
            mapnum,
            dev_num: ICVS.get().device_num,
            bounce_first: run.first,
            bounce_blocks: run.blocks,
        },
    );
    if arch::HAS_BELL {
        ring_if_asleep(&bell, arch::ring);
    }
    let reply = producer.wait(claim, arch::pause);

    if reply.copied != 0 {
        each_entry(call, |_, entry, carried| {
            let back = carried.is_some_and(|c| reply.copied & (1 << c) != 0);
            if back && MapKind(entry.kind).writes_device() {
                let (memory, base) = if entry.place == PLACE_SLOT {
                    (
                        &wire,
                        producer.reply_payload(claim) - entry_bytes_in_slot(count as u64),
                    )
                } else {
                    (&area, run.offset())
                };
                // SAFETY: as above; the kind says that the range is writable.
                unsafe {
                    memory.read_bytes(
                        base + entry.offset as usize,
                        entry.addr as *mut u8,
                        entry.size as usize,
                    );
                }
            }
        });
    }
    claims::release(&device, claim);
    if run != Run::NONE {
        bounce::release(&device, slots, run);
    }
    reply.status
}

/// Walks the plan of a call that is known to have one.
fn each_entry(call: Call, mut visit: impl FnMut(usize, &MapEntry, Option<CarriedIndex>)) {
    let mut plan = Plan::new(call.args.count(), call.spaces);
    for i in 0..call.args.count() {
        if let Ok((entry, carried)) = plan.next(call.args.get(i)) {
            visit(i, &entry, carried);
        }
    }
}
