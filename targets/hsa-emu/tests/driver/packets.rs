//! Random packets: each queue ends with an error or processes them, and nothing else happens.

use std::time::{Duration, Instant};

use crate::gpu::{Gpu, signal};
use crate::queue::{Kernels, Packet, Queue, barrier, dispatch};
use crate::random::{Random, rounds};

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
        let patience = if is_valid { 20_000 } else { 5 };
        let deadline = Instant::now() + Duration::from_millis(patience);
        while queue.failure() == 0 && queue.read_index() == 0 && Instant::now() < deadline {
            std::thread::yield_now();
        }
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
