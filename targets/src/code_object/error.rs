//! The errors of code objects. A message contains that of its cause, which is therefore no
//! [`source`](std::error::Error::source).

use super::Arg;
use crate::device_arch::NoDeviceArch;

/// Bytes that are not a code object, or whose metadata is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes are not ELF, or have no notes with metadata.
    #[error("no AMDGPU metadata")]
    NoMetadata,
    /// A note is invalid.
    #[error("a note that is not as it should be: {0}")]
    Note(object::Error),
    /// The metadata is not MessagePack.
    #[error("AMDGPU metadata: {0}")]
    MessagePack(rmpv::decode::Error),
    /// The code object is not for AMD GPUs.
    #[error("its target, `{0}`, is no AMD GPU")]
    NotAmd(String),
    /// The target is not the name of an AMD GPU.
    #[error(transparent)]
    Target(#[from] NoDeviceArch),
    /// A kernel has no name.
    #[error("AMDGPU metadata: a kernel without a name")]
    NoName,
    /// An argument exceeds the memory of arguments.
    #[error(
        "AMDGPU metadata: kernel `{kernel}` has {} bytes of arguments at {}, of {size} in all",
        arg.size,
        arg.offset
    )]
    Arg {
        /// The kernel.
        kernel: String,
        /// The argument.
        arg: Arg,
        /// Size of the kernel's memory of arguments, in bytes.
        size: u32,
    },
}
