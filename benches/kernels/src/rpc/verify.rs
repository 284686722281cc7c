//! A kernel that checks the bytes that calls by RPC transfer.

use bench_calls::{EMPTY, LARGE, TOFROM, TYPED};
use revoff_device::thread;

use super::call;

/// The calls, from which each thread chooses.
const CALLS: [u32; 4] = [EMPTY, TYPED, TOFROM, LARGE];

/// Makes `rounds` calls by RPC in each thread, and writes the number of right ones to `right`. The
/// calls differ between neighbouring lanes if `diverged` is not 0, otherwise between rounds only.
///
/// # Safety
/// The host has written the RPC client, and serves it. `right` has a word for each thread.
#[revoff_device::kernel]
pub unsafe fn verify_rpc(rounds: u32, diverged: u32, right: *mut u32) {
    let thread = thread::global();
    let mut small = [0u8; 64];
    let mut large = [0u8; 4096];
    let mut count = 0;
    for round in 0..rounds {
        let choice = if diverged == 0 { round } else { round + thread };
        let opcode = CALLS[choice as usize % CALLS.len()];
        let byte = |i: usize| (i as u32 ^ (i as u32 >> 8) ^ (thread * 7) ^ (round * 31)) as u8;
        small
            .iter_mut()
            .enumerate()
            .for_each(|(i, data)| *data = byte(i));
        large
            .iter_mut()
            .enumerate()
            .for_each(|(i, data)| *data = byte(i));
        // SAFETY: the launcher's promise.
        let served = unsafe { call(opcode, &mut small, &mut large) };
        // Exactly the first byte of what was sent comes back increased by one.
        let is_right = |data: &[u8], was_sent: bool| {
            let expected = |i| byte(i).wrapping_add(u8::from(was_sent && i == 0));
            data.iter()
                .enumerate()
                .all(|(i, data)| *data == expected(i))
        };
        let is_right =
            served && is_right(&small, opcode == TOFROM) && is_right(&large, opcode == LARGE);
        count += u32::from(is_right);
    }
    // SAFETY: the launcher provides the memory, one word for each thread.
    unsafe { right.add(thread as usize).write(count) };
}
