//! Packets of a queue, and their validation.
//!
//! Sources: HSA Platform System Architecture Specification, "Architected Queuing Language"; for errors, ROCr's
//! `AqlQueue::DynamicScratchHandler`.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use gcn_emu::{MAX_GROUP_BYTES, MAX_WORKGROUP};
use hsa_runtime_sys::*;

use crate::gpu::Kernel;
use crate::packet_error::PacketError;
use crate::spec::MAX_SCRATCH;

/// A packet's size.
pub(crate) const PACKET: usize = 64;

/// A packet's words.
pub(crate) type Words = [u32; PACKET / 4];

/// The scopes that strict GPUs demand: both sides see each other's writes.
const SYSTEM_SCOPES: u32 = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE
    | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

/// The slot of a packet in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketSlot(*mut u8);

// SAFETY: the packet's memory is accessed atomically.
unsafe impl Send for PacketSlot {}
// SAFETY: as above.
unsafe impl Sync for PacketSlot {}

impl PacketSlot {
    /// # Safety
    /// The address points to a packet, aligned to its size, which outlives this value and its copies.
    pub(crate) unsafe fn new(at: *mut u8) -> Self {
        Self(at)
    }

    /// Its address.
    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    fn header(&self) -> &AtomicU16 {
        // SAFETY: a packet begins with its header, and is aligned; both sides access it atomically.
        unsafe { AtomicU16::from_ptr(self.0.cast()) }
    }

    /// Loads the header.
    pub(crate) fn load_header(self) -> u16 {
        // Acquire: edge *packet*; the program's release of the header publishes the packet.
        self.header().load(Ordering::Acquire)
    }

    /// Marks the slot as free.
    pub(crate) fn free(self) {
        // Release: edge *free packet*; the packet was read before. The other end is the program's acquire of
        // the header.
        let invalid = HSA_PACKET_TYPE_INVALID as u16;
        self.header().store(invalid, Ordering::Release);
    }

    /// Loads all words.
    pub(crate) fn words(self) -> Words {
        std::array::from_fn(|at| {
            // SAFETY: within the packet, which is aligned.
            let word = unsafe { AtomicU32::from_ptr(self.0.add(4 * at).cast()) };
            // Relaxed: edge *packet* orders it.
            word.load(Ordering::Relaxed)
        })
    }
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Packet {
    Kernel(hsa_kernel_dispatch_packet_t),
    /// Waits until all signals are 0.
    And(hsa_barrier_and_packet_t),
    /// Waits until one of the signals is 0.
    Or(hsa_barrier_and_packet_t),
    /// Waits for a condition of a signal's value.
    Value(hsa_amd_barrier_value_packet_t),
}

impl Packet {
    /// Reads a packet whose header is valid.
    pub(crate) fn read(words: Words, is_strict: bool) -> Result<Self, PacketError> {
        let header = words[0] & 0xffff;
        let kind = header & 0xff;
        let scopes = header & !(1 << HSA_PACKET_HEADER_BARRIER | 0xff);
        let scope = |shift| scopes >> shift & 3;
        let is_known = scopes >> 13 == 0
            && scope(HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE) <= HSA_FENCE_SCOPE_SYSTEM
            && scope(HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE) <= HSA_FENCE_SCOPE_SYSTEM;
        if !is_known {
            return Err(PacketError::Header(header as u16));
        }
        if is_strict && scopes != SYSTEM_SCOPES {
            return Err(PacketError::Scopes(header as u16));
        }
        let format = words[0] >> 16 & 0xff;
        Ok(match kind {
            HSA_PACKET_TYPE_KERNEL_DISPATCH => Self::Kernel(read(words)),
            HSA_PACKET_TYPE_BARRIER_AND => Self::And(read(words)),
            HSA_PACKET_TYPE_BARRIER_OR => Self::Or(read(words)),
            HSA_PACKET_TYPE_VENDOR_SPECIFIC if format == HSA_AMD_PACKET_TYPE_BARRIER_VALUE => {
                Self::Value(read(words))
            }
            _ => return Err(PacketError::Type(kind, format)),
        })
    }

    /// Its completion signal.
    pub(crate) fn completion(&self) -> hsa_signal_t {
        match self {
            Self::Kernel(packet) => packet.completion_signal,
            Self::And(packet) | Self::Or(packet) => packet.completion_signal,
            Self::Value(packet) => packet.completion_signal,
        }
    }
}

/// A packet's type.
///
/// # Safety
/// The type has the size of a packet. Any bytes are valid: fields are numbers, handles and addresses.
unsafe trait FromWords {}

// SAFETY: numbers, handles and an address.
unsafe impl FromWords for hsa_kernel_dispatch_packet_t {}
// SAFETY: numbers and handles.
unsafe impl FromWords for hsa_barrier_and_packet_t {}
// SAFETY: numbers and handles.
unsafe impl FromWords for hsa_amd_barrier_value_packet_t {}

fn read<T: FromWords>(words: Words) -> T {
    const { assert!(size_of::<T>() == size_of::<Words>(), "a packet") };
    // SAFETY: of this size, and any bytes are valid.
    unsafe { std::mem::transmute_copy(&words) }
}

/// Whether a packet waits for all earlier ones.
pub(crate) fn has_barrier(header: u16) -> bool {
    header >> HSA_PACKET_HEADER_BARRIER & 1 == 1
}

/// Rejects a kernel that no GPU could run, with ROCr's error.
pub(crate) fn check(
    packet: &hsa_kernel_dispatch_packet_t,
    kernel: &Kernel,
    wave: u32,
) -> Result<(), PacketError> {
    let team = [
        packet.workgroup_size_x,
        packet.workgroup_size_y,
        packet.workgroup_size_z,
    ];
    let team = team.map(u32::from);
    let grid = [packet.grid_size_x, packet.grid_size_y, packet.grid_size_z];
    let dimensions = usize::from(packet.setup);
    let is_one = |&size: &u32| size == 1;
    if !(1..=3).contains(&dimensions) {
        return Err(PacketError::Dimensions(packet.setup));
    }
    for (what, size) in [("its workgroup", team), ("its grid", grid)] {
        if size.contains(&0) || !size[dimensions..].iter().all(is_one) {
            return Err(PacketError::Size {
                what,
                size,
                dimensions,
            });
        }
    }
    let threads = team.iter().map(|&size| u64::from(size)).product::<u64>();
    if threads > u64::from(MAX_WORKGROUP) {
        return Err(PacketError::Workgroup(threads));
    }
    let group = packet.group_segment_size;
    if group > MAX_GROUP_BYTES || group < kernel.descriptor.group_bytes {
        return Err(PacketError::GroupBytes {
            kernel: kernel.name.clone(),
            found: group,
            needed: kernel.descriptor.group_bytes,
        });
    }
    let scratch = u64::from(packet.private_segment_size) * u64::from(wave);
    if scratch > MAX_SCRATCH || packet.private_segment_size < kernel.descriptor.private_bytes {
        return Err(PacketError::PrivateBytes {
            kernel: kernel.name.clone(),
            found: packet.private_segment_size,
            needed: kernel.descriptor.private_bytes,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {

    use gcn_emu::{DESCRIPTOR_BYTES, Descriptor};

    use super::*;
    use crate::status::{Answer, Status};

    const BARRIER: u16 = 1 << 8;
    const KERNEL: u16 = 2 | 2 << 9 | 2 << 11;

    fn kind(header: u16, is_strict: bool) -> Answer<&'static str> {
        let mut words = [0; PACKET / 4];
        words[0] = u32::from(header);
        let packet = Packet::read(words, is_strict).map_err(|error| error.status())?;
        Ok(match packet {
            Packet::Kernel(_) => "kernel",
            Packet::And(_) => "and",
            Packet::Or(_) => "or",
            Packet::Value(_) => "value",
        })
    }

    #[test]
    fn a_header_says_what_the_host_relies_on() {
        for is_strict in [true, false] {
            assert_eq!(kind(KERNEL | BARRIER, is_strict), Ok("kernel"));
            assert_eq!(kind(KERNEL, is_strict), Ok("kernel"));
            assert_eq!(kind((KERNEL + 1) | BARRIER, is_strict), Ok("and"));
            assert_eq!(kind((KERNEL + 3) | BARRIER, is_strict), Ok("or"));
        }
        let refused = Err(Status::INVALID_PACKET_FORMAT);
        for (header, is_refused_by_all, what) in [
            (2 | BARRIER, false, "no scopes"),
            (2 | BARRIER | 2 << 9, false, "nothing is released"),
            (2 | BARRIER | 2 << 11, false, "nothing is acquired"),
            (2 | BARRIER | 1 << 9 | 1 << 11, false, "for this GPU"),
            (2 | BARRIER | 3 << 9 | 3 << 11, true, "no scope"),
            (KERNEL | BARRIER | 1 << 13, true, "reserved"),
            ((KERNEL - 1) | BARRIER, true, "invalid"),
            ((KERNEL + 2) | BARRIER, true, "agent dispatch"),
            ((KERNEL - 2) | BARRIER, true, "unknown format of a vendor"),
        ] {
            assert_eq!(kind(header, true), refused, "{what}");
            assert_eq!(kind(header, false) == refused, is_refused_by_all, "{what}");
        }
        let mut words = [0; PACKET / 4];
        words[0] = u32::from(KERNEL - 2) | HSA_AMD_PACKET_TYPE_BARRIER_VALUE << 16;
        assert!(matches!(Packet::read(words, true), Ok(Packet::Value(_))));
    }

    #[test]
    fn a_kernel_has_as_many_dimensions_as_it_says() {
        let mut descriptor = [0; DESCRIPTOR_BYTES];
        (descriptor[0], descriptor[4]) = (16, 8);
        let kernel = Kernel {
            name: String::new(),
            object: 0,
            descriptor: Descriptor::read(&descriptor),
        };
        let check = |setup, [x, y, z]: [u16; 3], grid: [u32; 3], (group, private)| {
            let packet = hsa_kernel_dispatch_packet_t {
                setup,
                workgroup_size_x: x,
                workgroup_size_y: y,
                workgroup_size_z: z,
                grid_size_x: grid[0],
                grid_size_y: grid[1],
                grid_size_z: grid[2],
                group_segment_size: group,
                private_segment_size: private,
                // SAFETY: a struct of numbers, pointers and handles, for which zeros are valid.
                ..unsafe { std::mem::zeroed() }
            };
            check(&packet, &kernel, 64).map_err(|error| error.status())
        };
        const FITS: (u32, u32) = (16, 8);
        assert_eq!(
            check(1, [64, 1, 1], [128, 1, 1], (MAX_GROUP_BYTES, 8)),
            Ok(())
        );
        assert_eq!(check(3, [1, 64, 16], [3, 64, 16], FITS), Ok(()));
        assert_eq!(check(3, [64, 1, 1], [64, 1, 1], FITS), Ok(()));
        let refused = Err(Status::INCOMPATIBLE_ARGUMENTS);
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
            let found = check(setup, team, grid, FITS);
            assert_eq!(found, refused, "{setup} {team:?} {grid:?}");
        }
        let team = check(2, [64, 17, 1], [64, 17, 1], FITS);
        assert_eq!(team, Err(Status::INVALID_ARGUMENT));
        for group in [MAX_GROUP_BYTES + 1, 15] {
            let found = check(1, [64, 1, 1], [64, 1, 1], (group, 8));
            assert_eq!(found, Err(Status::INVALID_ALLOCATION));
        }
        for private in [7, (MAX_SCRATCH / 64) as u32 + 1] {
            let found = check(1, [64, 1, 1], [64, 1, 1], (16, private));
            assert_eq!(found, Err(Status::OUT_OF_RESOURCES));
        }
    }
}
