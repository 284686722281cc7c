//! Calls that no wire can carry are refused before any memory access: the configuration of these
//! tests has null addresses.

mod serving;
mod warps;

use core::cell::Cell;

use shared_abi::image::DeviceConfig;
use shared_abi::map_kind::MapKind;
use shared_abi::status::Status;
use shared_abi::wire::WireKind;
use shared_abi::wire::bounce::{BLOCK, MAX_EXTENT};

use super::native::Native;
use super::{BITS, Call, Wire, call};
#[cfg(feature = "gcc-wires")]
use super::{gcc_ring::Ring, gcc_slot::Single, gcn_queue::Queue};
use crate::arch::Spaces;
use crate::call::{Args, StatusTo};
use crate::host_written::HostWritten;

/// The start of the stack, which ends with the address space so that a range of any size can start
/// in it.
const STACK: u64 = 0x1000;

/// The wires of this build.
const KINDS: &[WireKind] = if cfg!(feature = "gcc-wires") {
    &WireKind::ALL
} else {
    &[WireKind::NATIVE]
};

fn status(kind: WireKind, entries: &[(u64, u64)]) -> Status {
    let mut addrs = [0; 4];
    let mut sizes = [0; 4];
    for (i, &(addr, size)) in entries.iter().enumerate() {
        (addrs[i], sizes[i]) = (addr, size);
    }
    let kinds = [MapKind::TO.0; 4];
    let runtime = HostWritten::new(DeviceConfig {
        wire_kind: kind.0,
        slots: 32,
        wire: 0,
        claims: 0,
        bounce: 0,
        wake_word: 0,
        bounce_blocks: MAX_EXTENT,
        lanes: 1,
    });
    // SAFETY: the arrays have more elements than `entries`. A refused call reads
    // no range.
    let args = unsafe {
        Args::new(
            entries.len() as u32,
            addrs.as_ptr(),
            sizes.as_ptr(),
            kinds.as_ptr(),
        )
    };
    let request = Call {
        func: 1,
        args,
        orders_memory: true,
        device_num: 0,
        home_group: 0,
        launch: 0,
        spaces: Spaces::with_stack(STACK, u64::MAX),
    };
    let status = Cell::new(Status(u32::MAX));
    let report = |result| status.set(result);
    match kind {
        WireKind::NATIVE => Native::call(&runtime, request, report),
        #[cfg(feature = "gcc-wires")]
        WireKind::GCC_RING => Ring::call(&runtime, request, report),
        #[cfg(feature = "gcc-wires")]
        WireKind::GCC_SLOT => Single::call(&runtime, request, report),
        #[cfg(feature = "gcc-wires")]
        WireKind::GCN_QUEUE => Queue::call(&runtime, request, report),
        _ => {
            let mut result = u32::MAX;
            // SAFETY: the status goes to a variable of ours.
            unsafe {
                call(
                    kind,
                    request.func,
                    args,
                    0,
                    true,
                    StatusTo::new(&mut result),
                )
            };
            report(Status(result));
        }
    }
    status.get()
}

#[test]
fn ranges_that_no_extent_holds_are_refused() {
    let longest = BLOCK as u64 * u64::from(MAX_EXTENT);
    let refused: [&[(u64, u64)]; 8] = [
        &[(STACK, longest + 1)],
        &[(STACK, u64::MAX)],
        &[(STACK, u64::MAX - 7)],
        // Up to the last line of the address space, and into it.
        &[(STACK, u64::MAX - STACK - 63)],
        &[(STACK, u64::MAX - STACK)],
        // Short, but around the end of the address space.
        &[(u64::MAX - 7, 16)],
        &[(u64::MAX - 7, 1024)],
        // Each fits into the address space, but not both together.
        &[
            (STACK, 1000),
            (STACK, u64::MAX - STACK),
            (STACK, u64::MAX / 2),
        ],
    ];
    for kind in KINDS {
        for entries in refused {
            assert_eq!(
                status(*kind, entries),
                Status::REFUSED_MAPPING,
                "{kind:?} {entries:x?}"
            );
        }
    }
}

#[test]
fn every_wire_is_in_the_table_and_no_other() {
    let all = KINDS.iter().fold(0, |bits, kind| bits | kind.bit());
    assert_eq!(BITS, all);
    assert_eq!(status(WireKind::NONE, &[]), Status::NOT_OFFLOADED);
    assert_eq!(status(WireKind(99), &[]), Status::NOT_OFFLOADED);
}
