//! Claims on the slots of the `native` wire: device-scope atomics in device memory, which never
//! cross the bus.

use shared_abi::wire::claims::{self, ClaimGroup};
use shared_abi::words::{DeviceWords, Load, Store};

use crate::lanes::Lanes;

const TAKEN: usize = core::mem::offset_of!(ClaimGroup, taken);
const SEQS: usize = core::mem::offset_of!(ClaimGroup, seqs);

/// A slot that the calling thread owns until it releases it, and the sequence number of its
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Index of the slot.
    pub slot: u32,
    /// The sequence number of the request.
    pub seq: u32,
}

/// Claims a free slot of `slots` for each of `lanes`, or for the first of them if fewer are free;
/// waits with `pause` while none is. The first lane always gets one.
///
/// The search begins at claim group `home_group`. Warps with different ones neither contend for a
/// word nor share a line of ready hints; a warp that calls again gets the same slots, which are
/// still in its cache and in the host's.
///
/// # Safety
/// All of `lanes`, and no others, call this together.
#[inline]
pub unsafe fn claim(
    device: &impl DeviceWords,
    slots: u32,
    home_group: u32,
    lanes: Lanes,
    pause: impl Fn(u32),
) -> Option<Claim> {
    let mut first = (0, 0);
    if lanes.is_first() {
        first = take(device, slots, home_group, lanes.count(), pause);
    }
    // SAFETY: the caller's promise. `converge` passes on what `take` acquired.
    let (claim_group, mut taken) = unsafe {
        lanes.converge();
        (lanes.first(first.0), lanes.first(first.1))
    };
    for _ in 0..lanes.rank() {
        // The lanes before this one own the lowest.
        taken &= taken.wrapping_sub(1);
    }
    if taken == 0 {
        return None;
    }
    Some(advance_seq(device, claim_group, taken.trailing_zeros()))
}

/// Claims the slot of bit `bit` in claim group `claim_group`, which was taken for the calling lane,
/// by advancing its sequence number.
#[inline]
pub fn advance_seq(device: &impl DeviceWords, claim_group: u32, bit: u32) -> Claim {
    let seqs = claims::group_offset(claim_group) + SEQS + bit as usize * 4;
    // Relaxed: the slot is ours since C1, and its sequence number with it.
    let seq = device.load32(seqs, Load::Relaxed).wrapping_add(1);
    device.store32(seqs, seq, Store::Relaxed);
    Claim {
        slot: claim_group * claims::GROUP + bit,
        seq,
    }
}

/// Takes 1 to `wanted` free slots of one claim group: the group's index, and their bits. Waits with
/// `pause` while none is free.
#[inline]
pub fn take(
    device: &impl DeviceWords,
    slots: u32,
    home_group: u32,
    wanted: u32,
    pause: impl Fn(u32),
) -> (u32, u32) {
    let groups = claims::groups(slots);
    // The number of groups is a power of two, since that of slots is.
    let mut claim_group = home_group & (groups - 1);
    let mut attempt = 0;
    loop {
        for _ in 0..groups {
            let at = claims::group_offset(claim_group);
            // Relaxed: only a guess at free bits, `fetch_or_acquire` decides.
            let mut taken = device.load32(at + TAKEN, Load::Relaxed);
            while taken != u32::MAX {
                let bits = lowest(!taken, wanted);
                // Edge `C1`, claiming end: see `release`.
                taken = device.fetch_or_acquire(at + TAKEN, bits);
                let ours = bits & !taken;
                if ours != 0 {
                    return (claim_group, ours);
                }
            }
            claim_group = if claim_group + 1 == groups {
                0
            } else {
                claim_group + 1
            };
        }
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

/// The lowest `n` set bits of `bits`, or all.
#[inline]
const fn lowest(bits: u32, n: u32) -> u32 {
    let mut rest = bits;
    let mut i = 0;
    while i < n && rest != 0 {
        rest &= rest - 1;
        i += 1;
    }
    bits ^ rest
}

/// Frees the slot. The caller is done reading the reply.
pub fn release(device: &impl DeviceWords, claim: Claim) {
    let at = claims::group_offset(claim.slot / claims::GROUP) + TAKEN;
    // Edge `C1`, releasing end: the next owner sees the sequence number, and its stores to the
    // slot come after our loads from it.
    device.fetch_and_release(at, !(1 << (claim.slot % claims::GROUP)));
}

#[cfg(test)]
mod tests {
    use super::lowest;

    #[test]
    fn the_lowest_bits_and_no_more() {
        assert_eq!(lowest(0b1011_0100, 0), 0);
        assert_eq!(lowest(0b1011_0100, 1), 0b100);
        assert_eq!(lowest(0b1011_0100, 3), 0b11_0100);
        assert_eq!(lowest(0b1011_0100, 64), 0b1011_0100);
        assert_eq!(lowest(u32::MAX, 32), u32::MAX);
        assert_eq!(lowest(0, 32), 0);
    }
}
