//! `gcc-slot`: the wire of images that GCC 13 to 16 build for nvptx.
//!
//! One request at a time for the whole device. The device takes a lock of its
//! own, writes every word but `fn`, then `fn` (release, system scope) and waits
//! for it to become 0 again (acquire). The host, seeing `fn` non-zero (acquire),
//! takes the words, runs the function and stores 0 (release).

/// The one slot, in mapped memory, found through
/// [`REV_OFFLOAD_VAR`](crate::gomp::REV_OFFLOAD_VAR).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GccSlot {
    /// Function word; 0 while the slot is free. Written last. libgomp: `fn`.
    pub func: u64,
    /// Number of arguments.
    pub mapnum: u64,
    /// Device address of `mapnum` addresses (`u64`).
    pub addrs: u64,
    /// Device address of `mapnum` sizes (`u64`).
    pub sizes: u64,
    /// Device address of `mapnum` kinds (`u16`).
    pub kinds: u64,
    /// Number of the calling device.
    pub dev_num: i32,
    /// Padding to the structure's alignment; not read.
    pub reserved: u32,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<GccSlot>() == 48 && align_of::<GccSlot>() == 8);
    assert!(offset_of!(GccSlot, func) == 0);
    assert!(offset_of!(GccSlot, mapnum) == 8);
    assert!(offset_of!(GccSlot, addrs) == 16);
    assert!(offset_of!(GccSlot, sizes) == 24);
    assert!(offset_of!(GccSlot, kinds) == 32);
    assert!(offset_of!(GccSlot, dev_num) == 40);
    assert!(offset_of!(GccSlot, reserved) == 44);
};
