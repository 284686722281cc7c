//! `gcc-ring`: the wire of the parallel reverse-offload patch for GCC's nvptx
//! port (on the OG branches since OG13).
//!
//! A device thread draws a ticket from `next_slot`, waits until the slot's last
//! lap is consumed, writes the words of slot `ticket % SLOTS` and last `signal`
//! (release, system scope): the address of an `int` of its own, at which it then
//! waits for a non-zero value. The host claims tickets, copies each published
//! slot out, stores 0 to its `signal` (release), and advances `consumed` over
//! tickets in order; when the function has run it writes 1 to the caller's
//! `int`.
//!
//! All three counters are free-running `u32`; compare differences, not values.

/// Number of slots.
pub const SLOTS: u32 = 1024;

/// One slot.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GccRingSlot {
    /// Device address of the caller's `int`; 0 while the slot holds no request.
    /// Written last.
    pub signal: u64,
    /// Function word. libgomp: `fn`.
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

/// The wire, in mapped memory, found through
/// [`REV_OFFLOAD_VAR`](crate::gomp::REV_OFFLOAD_VAR).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GccRing {
    /// Tickets drawn by the device.
    pub next_slot: u32,
    /// Tickets whose slots may be used again; written by the host.
    pub consumed: u32,
    /// Tickets that host threads have taken; used only by the host.
    pub claimed: u32,
    /// Padding; not read.
    pub reserved: u32,
    /// The slots.
    pub queue: [GccRingSlot; SLOTS as usize],
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<GccRingSlot>() == 56 && align_of::<GccRingSlot>() == 8);
    assert!(offset_of!(GccRingSlot, signal) == 0);
    assert!(offset_of!(GccRingSlot, func) == 8);
    assert!(offset_of!(GccRingSlot, mapnum) == 16);
    assert!(offset_of!(GccRingSlot, addrs) == 24);
    assert!(offset_of!(GccRingSlot, sizes) == 32);
    assert!(offset_of!(GccRingSlot, kinds) == 40);
    assert!(offset_of!(GccRingSlot, dev_num) == 48);
    assert!(offset_of!(GccRingSlot, reserved) == 52);

    assert!(size_of::<GccRing>() == 57360 && align_of::<GccRing>() == 8);
    assert!(offset_of!(GccRing, next_slot) == 0);
    assert!(offset_of!(GccRing, consumed) == 4);
    assert!(offset_of!(GccRing, claimed) == 8);
    assert!(offset_of!(GccRing, reserved) == 12);
    assert!(offset_of!(GccRing, queue) == 16);
};
