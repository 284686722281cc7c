//! Why a packet is rejected.

use gcn_emu::{LaunchError, MAX_GROUP_BYTES, MAX_WORKGROUP};

use crate::spec::MAX_SCRATCH;
use crate::status::Status;

/// Why a packet is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PacketError {
    /// The header.
    #[error("its header is {0:#06x}, with a reserved bit or a fence's scope that does not exist")]
    Header(u16),
    /// The header, of a strict GPU.
    #[error("the scopes of its fences, in header {0:#06x}, are not both those of the system (2)")]
    Scopes(u16),
    /// The type, and AMD's format.
    #[error(
        "its type is {0}, its AMD format {1}; there are kernel dispatch (2), barrier-AND (3), barrier-OR (5) and, \
         with type 0, barrier-value (1)"
    )]
    Type(u32, u32),
    /// The doorbell of a strict GPU.
    #[error("the doorbell rang before the write index said that the packet is there")]
    WriteIndex,
    /// The doorbell of a strict GPU's queue with one producer.
    #[error("the doorbell rang before its header was written")]
    NotPublished,
    #[error("it has {0} dimensions; there are 1 to 3")]
    Dimensions(u16),
    /// Of the workgroup or the grid, beside the number of dimensions.
    #[error(
        "{what} has the size {size:?} in {dimensions} dimensions; a size is at least 1, and 1 in others"
    )]
    Size {
        what: &'static str,
        size: [u32; 3],
        dimensions: usize,
    },
    #[error("its workgroup has {0} work-items; the maximum is {MAX_WORKGROUP}")]
    Workgroup(u64),
    #[error(
        "its group_segment_size is {found}; kernel `{kernel}` needs {needed}, and a workgroup has {MAX_GROUP_BYTES}"
    )]
    GroupBytes {
        kernel: String,
        found: u32,
        needed: u32,
    },
    #[error(
        "its private_segment_size is {found}; kernel `{kernel}` needs {needed}, and a wave has {MAX_SCRATCH}"
    )]
    PrivateBytes {
        kernel: String,
        found: u32,
        needed: u32,
    },
    #[error(
        "its kernel_object {0:#x} is no kernel of a frozen executable on this GPU \
         (HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT)"
    )]
    KernelObject(u64),
    /// The arguments of a kernel for a strict GPU.
    #[error(
        "its kernarg_address is {address:#x}; kernel `{kernel}` reads {bytes} bytes there, to which the GPU has no access"
    )]
    Arguments {
        kernel: String,
        address: u64,
        bytes: u64,
    },
    #[error("its signal {0:#x} does not exist")]
    Signal(u64),
    /// The condition of a barrier.
    #[error("its condition is {0}; there are 0 to 3 (HSA_SIGNAL_CONDITION_..)")]
    Condition(u32),
    /// Of a kernel.
    #[error("kernel `{0}` cannot be launched: {1}")]
    Launch(String, LaunchError),
}

impl PacketError {
    /// ROCr's status.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Header(_) | Self::Scopes(_) | Self::Type(..) | Self::NotPublished => {
                Status::INVALID_PACKET_FORMAT
            }
            Self::Condition(_) => Status::INVALID_PACKET_FORMAT,
            Self::Dimensions(_) | Self::Size { .. } => Status::INCOMPATIBLE_ARGUMENTS,
            Self::WriteIndex | Self::Workgroup(_) | Self::Arguments { .. } => {
                Status::INVALID_ARGUMENT
            }
            Self::GroupBytes { .. } => Status::INVALID_ALLOCATION,
            Self::PrivateBytes { .. } | Self::Launch(..) => Status::OUT_OF_RESOURCES,
            Self::KernelObject(_) => Status::INVALID_CODE_OBJECT,
            Self::Signal(_) => Status::INVALID_SIGNAL,
        }
    }
}
