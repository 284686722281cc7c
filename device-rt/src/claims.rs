//! Claims on the slots of the `native` wire: device-scope atomics in device
//! memory, so that nothing of it crosses the bus.

use shared_abi::wire::claims::{self, ClaimGroup};
use shared_abi::words::{DeviceWords, Load, Store};

const TAKEN: usize = core::mem::offset_of!(ClaimGroup, taken);
const TURNS: usize = core::mem::offset_of!(ClaimGroup, turns);

/// A slot that the calling thread owns until it releases it, and the turn that
/// its request will have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Index of the slot.
    pub slot: u32,
    /// The slot's next turn.
    pub turn: u32,
}

/// Claims a free slot of `slots`; waits with `pause` while there is none.
///
/// Threads with different `hint`s start looking in different groups, so that
/// they neither contend for a word nor share a line of doors; a thread that
/// calls again gets the same slot, still in its cache and the host's.
pub fn claim(device: &impl DeviceWords, slots: u32, hint: u32, pause: impl Fn(u32)) -> Claim {
    let groups = claims::groups(slots);
    let mut group = hint % groups;
    let mut attempt = 0;
    loop {
        for _ in 0..groups {
            let at = claims::group_offset(group);
            // Relaxed: only a guess at a free bit, `fetch_or_acquire` decides.
            let mut taken = device.load32(at + TAKEN, Load::Relaxed);
            while taken != u32::MAX {
                let bit = taken.trailing_ones();
                // Edge `C1`, claiming end: see `release`.
                let before = device.fetch_or_acquire(at + TAKEN, 1 << bit);
                if before & (1 << bit) == 0 {
                    let turns = at + TURNS + bit as usize * 4;
                    // Relaxed: the slot is ours since C1, so is its turn.
                    let turn = device.load32(turns, Load::Relaxed).wrapping_add(1);
                    device.store32(turns, turn, Store::Relaxed);
                    return Claim {
                        slot: group * claims::GROUP + bit,
                        turn,
                    };
                }
                taken = before;
            }
            group = if group + 1 == groups { 0 } else { group + 1 };
        }
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

/// Gives the slot back. The caller has read everything it wants of the reply.
pub fn release(device: &impl DeviceWords, claim: Claim) {
    let at = claims::group_offset(claim.slot / claims::GROUP) + TAKEN;
    // Edge `C1`, releasing end: whoever claims the slot next sees its turn, and
    // its stores to the slot come after our loads from it.
    device.fetch_and_release(at, !(1 << (claim.slot % claims::GROUP)));
}
