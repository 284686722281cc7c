//! Bounce extents: no two threads own the same block.

use std::sync::Arc;

use model::Access::{FetchAnd, FetchOr};
use model::Side::Device;
use model::{Memory, Runs, View, Weak, explore, pause};
use revoff_device::bounce;
use shared_abi::wire::bounce::BLOCK;
use shared_abi::wire::claims::bounce_offset;
use shared_abi::words::{Load, Store, SystemWords};

/// The number of slots of the wire, which determines the offset of the claims.
const SLOTS: u32 = 2;

/// Blocks of the area: one word of claims.
const AREA: u32 = 32;

/// Claims an extent, writes its first and its last block, reads them, and releases the extent.
fn use_extent(device: &View, area: &View, blocks: u32) {
    let extent = bounce::claim(device, SLOTS, AREA, blocks, 0, pause);
    assert_eq!(extent.blocks, blocks);
    assert!(extent.first + blocks <= AREA);
    let first = extent.offset();
    let written = [first, first + (blocks as usize - 1) * BLOCK];
    for at in written {
        area.store64(at, blocks.into(), Store::Relaxed);
    }
    for at in written {
        assert_eq!(area.load64(at, Load::Relaxed), blocks.into());
    }
    bounce::release(device, SLOTS, extent);
}

/// Thread `i` claims extents of `lengths[i]` blocks, one after the other.
fn run(lengths: &'static [&'static [u32]], weak: Option<Weak>) {
    let (device, _) = Memory::new(weak)
        .flag32(bounce_offset(SLOTS, 0), "blocks", 0)
        .share();
    let mut area = Memory::new(None);
    for block in 0..AREA as usize {
        area = area.data64(block * BLOCK, "block", 0);
    }
    let area = Arc::new(area.share().0);
    let mut threads = Vec::new();
    for blocks in lengths {
        let (device, area) = (device.clone(), Arc::clone(&area));
        threads.push(loom::thread::spawn(move || {
            for &blocks in *blocks {
                use_extent(&device, &area, blocks);
            }
        }));
    }
    for thread in threads {
        if thread.join().is_err() {
            panic!("a thread failed");
        }
    }
}

#[test]
fn two_extents_of_which_one_fits() {
    explore("bounce, two extents of which one fits", Runs::All, || {
        run(&[&[20], &[20]], None)
    });
}

#[test]
fn extents_that_overlap() {
    explore(
        "bounce, a long extent against short ones",
        Runs::Preemptions(3),
        || {
            run(&[&[12, 30], &[20, 8]], None);
        },
    );
}

#[test]
fn three_claimers() {
    explore(
        "bounce, three extents of which two fit",
        Runs::Preemptions(2),
        || {
            run(&[&[20], &[12], &[12]], None);
        },
    );
}

/// Explores a model without an order.
fn weak(weak: Weak) {
    explore("bounce, weakened", Runs::All, move || {
        run(&[&[20], &[20]], Some(weak))
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn c2_without_device_release() {
    weak(Weak(Device, FetchAnd, "blocks"));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn c2_without_device_acquire() {
    weak(Weak(Device, FetchOr, "blocks"));
}
