//! Packets of a queue, and their validation. Kernels are threads here, which see all memory at once
//! and run in order: errors that only a GPU would show are rejected.
//!
//! Source: HSA Platform System Architecture Specification, "Architected Queuing Language".

use std::sync::atomic::{AtomicU32, Ordering};

use hsa_runtime_sys::*;

use crate::agent::MAX_TEAM;
use crate::pool::GROUP_SIZE;
use crate::state::Answer;

/// A packet's size.
pub(crate) const PACKET: usize = 64;

/// The header bits that the host relies on: both sides see each other's writes. The kind and the
/// barrier bit are left out.
const SCOPES: u32 = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE
    | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

/// All words of the packet at `place` except the first, which has its kind.
///
/// # Safety
/// There is a packet's memory at `place`.
pub(crate) unsafe fn body(place: *mut u8) -> [u32; PACKET / 4 - 1] {
    std::array::from_fn(|at| {
        // SAFETY: within the packet, by the caller's promise; packets are aligned.
        let word = unsafe { AtomicU32::from_ptr(place.add(4 * (at + 1)).cast()) };
        // Relaxed: the header orders it.
        word.load(Ordering::Relaxed)
    })
}

/// The supported kinds of packets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Barrier,
    Kernel,
}

/// The kind of packet in a header. One that `is_behind` another, which had not ended when it came,
/// must declare that it waits for that.
pub(crate) fn kind(header: u16, is_behind: bool) -> Answer<Kind> {
    let header = u32::from(header);
    let has_barrier = header >> HSA_PACKET_HEADER_BARRIER & 1 == 1;
    let scopes = header & !(1 << HSA_PACKET_HEADER_BARRIER | 0xff);
    if scopes != SCOPES || is_behind && !has_barrier {
        return Err(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
    }
    match header & 0xff {
        HSA_PACKET_TYPE_BARRIER_AND => Ok(Kind::Barrier),
        HSA_PACKET_TYPE_KERNEL_DISPATCH => Ok(Kind::Kernel),
        _ => Err(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT),
    }
}

/// Rejects a kernel that no GPU could run, with ROCr's error.
pub(crate) fn check(packet: &hsa_kernel_dispatch_packet_t) -> Answer {
    let team = [
        packet.workgroup_size_x,
        packet.workgroup_size_y,
        packet.workgroup_size_z,
    ];
    let team = team.map(u32::from);
    let grid = [packet.grid_size_x, packet.grid_size_y, packet.grid_size_z];
    let dimensions = usize::from(packet.setup);
    let is_one = |&size: &u32| size == 1;
    if !(1..=3).contains(&dimensions)
        || team.contains(&0)
        || grid.contains(&0)
        || !team[dimensions..].iter().all(is_one)
        || !grid[dimensions..].iter().all(is_one)
    {
        return Err(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
    }
    let threads = team.iter().map(|&size| u64::from(size)).product::<u64>();
    if threads > u64::from(MAX_TEAM) {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    if packet.group_segment_size > GROUP_SIZE {
        return Err(HSA_STATUS_ERROR_INVALID_ALLOCATION);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARRIER: u16 = 1 << 8;
    const KERNEL: u16 = 2 | 2 << 9 | 2 << 11;

    #[test]
    fn a_header_says_what_the_host_relies_on() {
        assert_eq!(kind(KERNEL | BARRIER, true), Ok(Kind::Kernel));
        assert_eq!(kind(KERNEL, false), Ok(Kind::Kernel));
        assert_eq!(kind((KERNEL + 1) | BARRIER, true), Ok(Kind::Barrier));
        let refused = Err(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
        assert_eq!(kind(KERNEL, true), refused, "beside what is before it");
        for (header, what) in [
            (2 | BARRIER, "no scopes"),
            (2 | BARRIER | 2 << 9, "nothing is released"),
            (2 | BARRIER | 2 << 11, "nothing is acquired"),
            (2 | BARRIER | 1 << 9 | 1 << 11, "for this GPU"),
            (2 | BARRIER | 3 << 9 | 3 << 11, "no scope"),
            (KERNEL | BARRIER | 1 << 13, "reserved"),
            ((KERNEL - 1) | BARRIER, "invalid"),
            ((KERNEL + 3) | BARRIER, "or"),
        ] {
            assert_eq!(kind(header, false), refused, "{what}");
        }
    }

    #[test]
    fn a_kernel_has_as_many_dimensions_as_it_says() {
        let check = |setup, [x, y, z]: [u16; 3], grid: [u32; 3], group_segment_size| {
            check(&hsa_kernel_dispatch_packet_t {
                setup,
                workgroup_size_x: x,
                workgroup_size_y: y,
                workgroup_size_z: z,
                grid_size_x: grid[0],
                grid_size_y: grid[1],
                grid_size_z: grid[2],
                group_segment_size,
                // SAFETY: a struct of numbers, pointers and handles, for which zeros are valid.
                ..unsafe { std::mem::zeroed() }
            })
        };
        assert_eq!(check(1, [64, 1, 1], [128, 1, 1], GROUP_SIZE), Ok(()));
        assert_eq!(check(3, [1, 64, 16], [3, 64, 16], 0), Ok(()));
        assert_eq!(check(3, [64, 1, 1], [64, 1, 1], 0), Ok(()));
        let refused = Err(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
        for (setup, team, grid) in [
            (0, [64, 1, 1], [64, 1, 1]),
            (4, [64, 1, 1], [64, 1, 1]),
            (1 | 1 << 2, [64, 1, 1], [64, 1, 1]),
            (1, [64, 2, 1], [64, 2, 1]),
            (1, [64, 1, 1], [64, 2, 1]),
            (2, [64, 1, 2], [64, 1, 2]),
            (3, [64, 0, 1], [64, 1, 1]),
            (3, [64, 1, 1], [64, 1, 0]),
        ] {
            assert_eq!(
                check(setup, team, grid, 0),
                refused,
                "{setup} {team:?} {grid:?}"
            );
        }
        let team = check(2, [64, 17, 1], [64, 17, 1], 0);
        assert_eq!(team, Err(HSA_STATUS_ERROR_INVALID_ARGUMENT));
        let group = check(1, [64, 1, 1], [64, 1, 1], GROUP_SIZE + 1);
        assert_eq!(group, Err(HSA_STATUS_ERROR_INVALID_ALLOCATION));
    }
}
