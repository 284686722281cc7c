//! Kernel descriptors.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend", kernel descriptor.

use crate::arch::{Arch, Generation, Target, WaveSize};

/// The size of a descriptor.
pub const DESCRIPTOR_BYTES: usize = 64;

/// Resources of a kernel, and the contents of its registers at the begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Bytes of LDS of the kernel's own variables.
    pub group_bytes: u32,
    /// Bytes of private memory of a lane, without calls of unknown depth.
    pub private_bytes: u32,
    /// Bytes of arguments.
    pub kernarg_bytes: u32,
    /// The distance of the first instruction from the descriptor.
    pub entry: i64,
    resources: [u32; 3],
    properties: u16,
}

/// The contents of scalar registers at the begin, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserData {
    PrivateSegmentBuffer,
    DispatchPointer,
    QueuePointer,
    KernargPointer,
    DispatchId,
    FlatScratch,
    PrivateSegmentSize,
}

impl UserData {
    const ALL: [Self; 7] = [
        Self::PrivateSegmentBuffer,
        Self::DispatchPointer,
        Self::QueuePointer,
        Self::KernargPointer,
        Self::DispatchId,
        Self::FlatScratch,
        Self::PrivateSegmentSize,
    ];
}

/// Registers of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    /// Scalar registers.
    pub(crate) scalar: u8,
    /// Vector registers.
    pub(crate) vector: u16,
    /// Accumulation registers.
    pub(crate) accumulation: u16,
}

fn bits(word: u32, first: u32, count: u32) -> u32 {
    word >> first & ((1 << count) - 1)
}

impl Descriptor {
    /// Reads a descriptor.
    #[must_use]
    pub fn read(bytes: &[u8; DESCRIPTOR_BYTES]) -> Self {
        let word = |at: usize| {
            let bytes = std::array::from_fn(|byte| bytes[at + byte]);
            u32::from_le_bytes(bytes)
        };
        Self {
            group_bytes: word(0),
            private_bytes: word(4),
            kernarg_bytes: word(8),
            entry: (u64::from(word(20)) << 32 | u64::from(word(16))).cast_signed(),
            resources: [word(48), word(52), word(44)],
            properties: word(56) as u16,
        }
    }

    /// The size of a wave on an architecture.
    #[must_use]
    pub fn target(&self, arch: Arch) -> Target {
        let is_narrow = self.properties & 1 << 10 != 0;
        let wave = match arch.generation() {
            Generation::Gfx11 | Generation::Gfx12 if is_narrow => WaveSize::Wave32,
            _ => WaveSize::Wave64,
        };
        Target { arch, wave }
    }

    /// The registers of a wave.
    pub(crate) fn registers(&self, target: Target) -> Registers {
        let granules = bits(self.resources[0], 0, 6) as u16 + 1;
        let unified = target.arch.has_unified_registers();
        let vector = granules
            * match (target.wave, unified) {
                (WaveSize::Wave32, _) | (_, true) => 8,
                _ => 4,
            };
        let (vector, accumulation) = match target.arch {
            // The accumulation registers follow the others.
            Arch::Gfx90a | Arch::Gfx942 => {
                let first = 4 * (bits(self.resources[2], 0, 6) as u16 + 1);
                (vector.min(first), vector.saturating_sub(first))
            }
            Arch::Gfx908 => (vector, vector),
            _ => (vector, 0),
        };
        let scalar = match target.arch.generation() {
            Generation::Gfx9 => (bits(self.resources[0], 6, 4) / 2 + 1) * 16,
            Generation::Gfx11 | Generation::Gfx12 => 106,
        };
        Registers {
            scalar: scalar.min(102 + 4) as u8,
            vector: vector.min(256),
            accumulation: accumulation.min(256),
        }
    }

    /// The data that the kernel wants in its first scalar registers.
    pub(crate) fn user_data(&self) -> impl Iterator<Item = UserData> {
        let all = UserData::ALL.into_iter().enumerate();
        let properties = self.properties;
        all.filter_map(move |(bit, data)| (properties >> bit & 1 != 0).then_some(data))
    }

    /// The number of scalar registers of user data, which may be more than what is known.
    pub(crate) fn user_registers(&self) -> u8 {
        bits(self.resources[1], 1, 5) as u8
    }

    /// Whether a wave has private memory.
    pub(crate) fn has_private_memory(&self) -> bool {
        bits(self.resources[1], 0, 1) != 0
    }

    /// Whether registers have the place of the workgroup in each dimension.
    pub(crate) fn workgroup_ids(&self) -> [bool; 3] {
        [7, 8, 9].map(|bit| bits(self.resources[1], bit, 1) != 0)
    }

    /// Whether a register has information on the workgroup.
    pub(crate) fn has_workgroup_info(&self) -> bool {
        bits(self.resources[1], 10, 1) != 0
    }

    /// The dimensions of the place of the lane in the workgroup, from 1.
    pub(crate) fn workitem_dimensions(&self) -> u32 {
        (bits(self.resources[1], 11, 2) + 1).min(3)
    }

    /// The mode register: rounding, denormals, whether NaNs are clamped to 0, and whether operations
    /// follow IEEE 754. On gfx12 it lacks the last two, and NaNs are clamped to 0.
    pub(crate) fn float_mode(&self, generation: Generation) -> u32 {
        let floats = bits(self.resources[0], 12, 8);
        match generation {
            Generation::Gfx9 | Generation::Gfx11 => {
                floats | bits(self.resources[0], 21, 1) << 8 | bits(self.resources[0], 23, 1) << 9
            }
            Generation::Gfx12 => floats | 1 << 8,
        }
    }
}
