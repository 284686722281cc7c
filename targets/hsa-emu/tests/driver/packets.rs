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
    let (mut rejected, rounds) = (0, rounds(300));
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
        for _ in 0..random.below(3) {
            packet[random.below(16)] ^= 1 << random.below(32);
        }
        queue.push(&packet);
        let deadline = Instant::now() + Duration::from_millis(5);
        // Packets that are not published, or wait for a signal that nothing changes, stay.
        while queue.failure() == 0 && queue.read_index() == 0 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        rejected += u64::from(queue.failure() != 0);
    }
    assert!(rejected > rounds / 4, "{rejected} of {rounds}");
}
