//! The bounce area: mapped memory through which a device thread carries what the
//! host cannot reach (its stack, block-shared memory) and what does not fit a
//! slot.
//!
//! The area is an array of blocks. A request takes one *extent* of consecutive
//! blocks whose bits lie in one word of [`claims`](super::claims), so that one
//! atomic takes them all; it gives them back when it has read its results. The
//! area starts at [`DeviceConfig::bounce`](crate::image::DeviceConfig::bounce).

/// Size of a block in bytes.
pub const BLOCK: usize = 16 * 1024;

/// Blocks of the longest extent: 512 KiB, which is as much local memory as a thread
/// of any NVIDIA GPU can have.
pub const MAX_EXTENT: u32 = 32;

/// The header of an extent on GCC's wires, whose slots have no room for it. The request's
/// addresses, sizes and kinds follow, then the marshalled bytes.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BounceHeader {
    /// `gcc-ring`, `gcn-queue`: the caller's completion word, 0 until the host writes 1.
    pub signal: u32,
    /// Key of the calling launch, given by the host; 0 if the device does not know it.
    pub launch: u32,
    /// Not used.
    pub reserved: [u32; 14],
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<BounceHeader>() == 64 && align_of::<BounceHeader>() == 64);
    assert!(offset_of!(BounceHeader, signal) == 0);
    assert!(offset_of!(BounceHeader, launch) == 4);
    assert!(offset_of!(BounceHeader, reserved) == 8);
};
