//! The description of the image that the host reads.

use shared_abi::image::{IMAGE_MAGIC, ImageInfo};

use crate::wire;

/// The image: its ABI version and its wires. See [`host_written`](crate::host_written) for
/// `used(linker)`.
#[unsafe(export_name = "__revoff_image")]
#[cfg_attr(any(target_arch = "nvptx64", target_arch = "amdgpu"), used(linker))]
pub static IMAGE: ImageInfo = ImageInfo {
    magic: IMAGE_MAGIC,
    abi_version: shared_abi::ABI_VERSION,
    wires: wire::BITS,
};
