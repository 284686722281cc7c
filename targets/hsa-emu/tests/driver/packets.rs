//! Packets with one wrong bit, and random ones: each queue ends with an error or processes them, and nothing else happens.

use std::time::{Duration, Instant};

use hsa_runtime_sys::*;

use crate::gpu::{Gpu, destroy, signal, works};
use crate::queue::{Kernels, Packet, Queue, barrier, dispatch};
use crate::random::{Random, rounds};

/// The status of a packet that launches `large` with one work-item, if this bit is the other way; `None` where a test
/// cannot wait for its kernel, or the bit names something of another test.
fn status_with(word: usize, bit: usize) -> Option<hsa_status_t> {
    const FORMAT: hsa_status_t = HSA_STATUS_ERROR_INVALID_PACKET_FORMAT;
    const SIZES: hsa_status_t = HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS;
    Some(match (word, bit) {
        // The type barrier-AND, whose first signal is the size of the grid.
        (0, 0) => HSA_STATUS_ERROR_INVALID_SIGNAL,
        (0, 8) => HSA_STATUS_SUCCESS,
        // Other types, other scopes than the system's, and reserved bits.
        (0, ..16) => FORMAT,
        // The dimensions; there may be three.
        (0, 16 | 18..) => SIZES,
        (0, 17) => HSA_STATUS_SUCCESS,
        // The workgroup, whose dimensions but the first must be 1, and a reserved half.
        (1, 1..10) => HSA_STATUS_SUCCESS,
        (1, 10..16) => HSA_STATUS_ERROR_INVALID_ARGUMENT,
        (1, _) | (2, ..16) => SIZES,
        (2, _) => HSA_STATUS_SUCCESS,
        // The grid.
        (3, 1..10) => HSA_STATUS_SUCCESS,
        (3, 10..) => return None,
        (3..=5, _) => SIZES,
        // Private bytes: 256 of at most 8 MiB / 64.
        (6, 8 | 17..) => HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        // Bytes of the group: 1024 of at most 65536.
        (7, 10 | 16..) => HSA_STATUS_ERROR_INVALID_ALLOCATION,
        (6 | 7, _) => HSA_STATUS_SUCCESS,
        // The descriptor: other kernels' are beside it.
        (8, 6..12) => return None,
        (8 | 9, _) => HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
        // The arguments, of which it has none, and a reserved word.
        (10..=13, _) => HSA_STATUS_SUCCESS,
        // The signal: others' are beside it.
        (14, ..24) => return None,
        _ => HSA_STATUS_ERROR_INVALID_SIGNAL,
    })
}

#[test]
fn each_bit_of_a_packet_has_its_meaning() {
    let gpu = Gpu::new();
    let Some(kernels) = Kernels::load(&gpu) else {
        return;
    };
    let done = signal(1 << 40);
    let object = kernels.object("large");
    for (word, bit) in (0..16).flat_map(|word| (0..32).map(move |bit| (word, bit))) {
        let Some(expected) = status_with(word, bit) else {
            continue;
        };
        let mut packet = dispatch(object, std::ptr::null_mut(), done);
        (packet[6], packet[7]) = (256, 1024);
        packet[word] ^= 1 << bit;
        let queue = Queue::new(&gpu, 4);
        queue.push(&packet);
        wait(&queue, 20_000);
        let is_processed = expected == HSA_STATUS_SUCCESS;
        let found = (queue.failure(), queue.read_index());
        assert_eq!(
            found,
            (expected, u64::from(is_processed)),
            "word {word}, bit {bit}"
        );
    }
    works(destroy(done));
}

/// Waits until a queue has processed its first packet or failed, at most for some time.
fn wait(queue: &Queue, milliseconds: u64) {
    let deadline = Instant::now() + Duration::from_millis(milliseconds);
    while queue.failure() == 0 && queue.read_index() == 0 && Instant::now() < deadline {
        std::thread::yield_now();
    }
}

#[test]
fn random_packets_are_processed_or_rejected() {
    let gpu = Gpu::new();
    let kernels = Kernels::load(&gpu);
    let done = signal(1 << 40);
    let mut random = Random::new(5);
    let (mut rejected, mut unchanged, rounds) = (0, 0, rounds(300));
    for round in 0..rounds {
        let queue = Queue::new(&gpu, 4);
        let mut packet: Packet = match round % 3 {
            0 => std::array::from_fn(|_| random.next() as u32),
            1 => barrier(3 + 2 * (random.next() as u32 & 1), &[], done),
            _ => {
                let object = kernels
                    .as_ref()
                    .map_or(64, |kernels| kernels.object("large"));
                let mut packet = dispatch(object, std::ptr::null_mut(), done);
                (packet[6], packet[7]) = (256, 1024);
                packet
            }
        };
        let changes = random.below(3);
        for _ in 0..changes {
            packet[random.below(16)] ^= 1 << random.below(32);
        }
        let is_valid = changes == 0 && (round % 3 == 1 || round % 3 == 2 && kernels.is_some());
        queue.push(&packet);
        // Packets that are not published, or wait for a signal that nothing changes, stay.
        wait(&queue, if is_valid { 20_000 } else { 5 });
        rejected += u64::from(queue.failure() != 0);
        if is_valid {
            assert_eq!((queue.failure(), queue.read_index()), (0, 1), "{packet:x?}");
            unchanged += 1;
        }
    }
    assert!(unchanged > rounds / 9, "{unchanged} of {rounds}");
    // Random packets, and some of those with changes.
    assert!(rejected > rounds / 3, "{rejected} of {rounds}");
}
