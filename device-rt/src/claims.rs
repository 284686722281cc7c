//! Claims on the slots of the `native` wire: device-scope atomics in device
//! memory, so that nothing of it crosses the bus.

use shared_abi::wire::claims::{self, ClaimGroup};
use shared_abi::words::{DeviceWords, Load, Store};

use crate::lanes::Group;

const TAKEN: usize = core::mem::offset_of!(ClaimGroup, taken);
const SEQS: usize = core::mem::offset_of!(ClaimGroup, seqs);

/// A slot that the calling thread owns until it releases it, and the sequence number that
/// its request will have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Index of the slot.
    pub slot: u32,
    /// The slot's next sequence number.
    pub seq: u32,
}

/// Claims a free slot of `slots` for each lane of `group`, or for as many of them as
/// there is; waits with `pause` while there is none. The first lane gets one in any
/// case.
///
/// Warps with different `hint`s start looking in different groups of slots, so that
/// they neither contend for a word nor share a line of ready hints; a warp that calls again
/// gets the same slots, still in its cache and the host's.
///
/// # Safety
/// All lanes of `group`, and no others, call this together.
#[inline]
pub unsafe fn claim(
    device: &impl DeviceWords,
    slots: u32,
    hint: u32,
    group: Group,
    pause: impl Fn(u32),
) -> Option<Claim> {
    let mut place = (0, 0);
    if group.is_first() {
        place = take(device, slots, hint, group.count(), pause);
    }
    // SAFETY: the caller's promise. `converge` hands on what `take` acquired.
    let (at, mut taken) = unsafe {
        group.converge();
        (group.first(place.0), group.first(place.1))
    };
    for _ in 0..group.rank() {
        // The lanes before this one have the lowest.
        taken &= taken.wrapping_sub(1);
    }
    if taken == 0 {
        return None;
    }
    Some(begin(device, at, taken.trailing_zeros()))
}

/// The claim on the slot of bit `bit` in group `group` of slots, which was taken for the
/// calling lane: its next sequence number begins.
#[inline]
pub fn begin(device: &impl DeviceWords, group: u32, bit: u32) -> Claim {
    let seqs = claims::group_offset(group) + SEQS + bit as usize * 4;
    // Relaxed: the slot is ours since C1, so is its sequence number.
    let seq = device.load32(seqs, Load::Relaxed).wrapping_add(1);
    device.store32(seqs, seq, Store::Relaxed);
    Claim {
        slot: group * claims::GROUP + bit,
        seq,
    }
}

/// Takes 1 to `wanted` free slots of one group of slots, for as many lanes: the group's
/// index, and their bits. Waits with `pause` while there is none.
#[inline]
pub fn take(
    device: &impl DeviceWords,
    slots: u32,
    hint: u32,
    wanted: u32,
    pause: impl Fn(u32),
) -> (u32, u32) {
    let groups = claims::groups(slots);
    // As many groups as a power of two, since slots are.
    let mut group = hint & (groups - 1);
    let mut attempt = 0;
    loop {
        for _ in 0..groups {
            let at = claims::group_offset(group);
            // Relaxed: only a guess at free bits, `fetch_or_acquire` decides.
            let mut taken = device.load32(at + TAKEN, Load::Relaxed);
            while taken != u32::MAX {
                let bits = lowest(!taken, wanted);
                // Edge `C1`, claiming end: see `release`.
                taken = device.fetch_or_acquire(at + TAKEN, bits);
                let ours = bits & !taken;
                if ours != 0 {
                    return (group, ours);
                }
            }
            group = if group + 1 == groups { 0 } else { group + 1 };
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

/// Gives the slot back. The caller has read everything it wants of the reply.
pub fn release(device: &impl DeviceWords, claim: Claim) {
    let at = claims::group_offset(claim.slot / claims::GROUP) + TAKEN;
    // Edge `C1`, releasing end: whoever claims the slot next sees its sequence number, and
    // its stores to the slot come after our loads from it.
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
