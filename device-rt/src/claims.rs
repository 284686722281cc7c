//! Claims on the slots of the `native` wire: device-scope atomics in device memory, which never
//! cross the bus.

use shared_abi::wire::claims::{self, ClaimGroup};
use shared_abi::wire::native::{claim_of, next_seq};
use shared_abi::words::{DeviceWords, Load, Store};

use crate::lanes::Lanes;

const TAKEN: usize = core::mem::offset_of!(ClaimGroup, taken);
const SEQS: usize = core::mem::offset_of!(ClaimGroup, seqs);

/// A slot that the calling lanes own until one of them releases it, and the sequence number of their
/// requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Index of the slot.
    pub slot: u32,
    /// The sequence number of the requests.
    pub seq: u32,
}

/// Claims a free slot of `slots` for `lanes`; waits with `pause` while none is.
///
/// The search begins at claim group `home_group`. Warps with different ones do not contend for a
/// word; a warp that calls again gets the same slot, which is still in its cache and in the host's.
///
/// # Safety
/// All of `lanes`, and no others, call this together.
#[inline(always)]
pub unsafe fn claim(
    device: &impl DeviceWords,
    slots: u32,
    home_group: u32,
    lanes: Lanes,
    pause: impl Fn(u32),
) -> Claim {
    let mut claim = Claim { slot: 0, seq: 0 };
    if lanes.is_first() {
        claim = take(device, slots, home_group, pause);
    }
    // SAFETY: the caller's promise. `converge` passes on what `take` acquired.
    unsafe {
        lanes.converge();
        Claim {
            slot: lanes.first(claim.slot),
            seq: lanes.first(claim.seq),
        }
    }
}

/// [`claim`] by one thread.
#[inline(always)]
pub fn take(device: &impl DeviceWords, slots: u32, home_group: u32, pause: impl Fn(u32)) -> Claim {
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
                let bit = taken.trailing_ones();
                // Edge `C1`, claiming end: see `release`.
                taken = device.fetch_or_acquire(at + TAKEN, 1 << bit);
                if taken & (1 << bit) == 0 {
                    let seqs = at + SEQS + bit as usize * 4;
                    // Relaxed: the slot is ours since C1, and its sequence number with it.
                    let seq = next_seq(device.load32(seqs, Load::Relaxed));
                    device.store32(seqs, seq, Store::Relaxed);
                    return Claim {
                        slot: claim_group * claims::GROUP + bit,
                        seq,
                    };
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

/// Claims a slot for a call that its thread does not wait for; `None` if none is free.
///
/// Only the first half of the slots is searched. A thread that waits for a slot thus always gets one,
/// whatever calls other threads, or it itself, have started and not finished.
#[cfg(feature = "start")]
pub fn take_started(device: &impl DeviceWords, slots: u32, home_group: u32) -> Option<Claim> {
    let groups = claims::groups(slots);
    let (searched, outside) = match groups {
        1 => (1, u32::MAX << (slots / 2)),
        _ => (groups / 2, 0),
    };
    for i in 0..searched {
        let claim_group = home_group.wrapping_add(i) & (searched - 1);
        let at = claims::group_offset(claim_group);
        // Relaxed: only a guess at free bits, `fetch_or_acquire` decides.
        let mut taken = device.load32(at + TAKEN, Load::Relaxed) | outside;
        while taken != u32::MAX {
            let bit = taken.trailing_ones();
            // Edge `C1`, claiming end: see `release`.
            let before = device.fetch_or_acquire(at + TAKEN, 1 << bit);
            if before & (1 << bit) == 0 {
                let seqs = at + SEQS + bit as usize * 4;
                // Relaxed: the slot is ours since C1, and its sequence number with it.
                let seq = next_seq(device.load32(seqs, Load::Relaxed));
                device.store32(seqs, seq, Store::Relaxed);
                return Some(Claim {
                    slot: claim_group * claims::GROUP + bit,
                    seq,
                });
            }
            taken = before | outside;
        }
    }
    None
}

/// Frees the slot. All its lanes are done reading the replies.
#[inline(always)]
pub fn release(device: &impl DeviceWords, claim: Claim) {
    let (claim_group, bit) = claim_of(claim.slot);
    let at = claims::group_offset(claim_group) + TAKEN;
    // Edge `C1`, releasing end: the next owner sees the sequence number, and its stores to the
    // slot come after our loads from it.
    device.fetch_and_release(at, !(1 << bit));
}
