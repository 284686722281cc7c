//! `gcn-queue`: the wire of images that GCC builds for amdgcn, which also carries printed text. GCC
//! has one in the kernel arguments of each launch; `device-rt` has one for the device, as on the
//! other wires.
//!
//! A device thread draws a ticket from `next_output`, waits until the slot's last
//! lap is consumed, writes the message into slot `ticket % SLOTS` and last
//! `written` (release, system scope). Text that takes several messages draws their
//! tickets at once. The host reads the message, stores 0 to `written`, and advances
//! `consumed` over tickets in order.
//!
//! A call comes in two forms:
//!
//! - with the address of an `int` in [`GcnCall::signal`], as the parallel
//!   reverse-offload patch has it: the host consumes the slot at once, and writes 1 to
//!   the `int` when the function has run;
//! - without, as GCC 13 to 16 have it, which leave that word alone: the host stores 0 to
//!   `written` when the function has run, and consumes the slot only then.
//!
//! The host recognises the second form by a 0 in that word, so it stores 0 there before it consumes
//! a slot.
//!
//! Both counters are free-running `u32`; compare differences, not values.

/// Number of slots.
pub const SLOTS: u32 = 1024;

/// Bytes of each of the two texts of a message. One that is shorter ends with a 0.
pub const TEXT: usize = 128;

/// Type of a message that prints `label`, an `i64` in decimal, and the end of the line.
pub const INTEGER: u32 = 0;
/// Like [`INTEGER`], with a `double`, printed as by `%f`.
pub const DOUBLE: u32 = 1;
/// Type of a message that prints `label`, more text, and the end of the line.
pub const LINE: u32 = 2;
/// Like [`LINE`], without the end of the line.
pub const RAW: u32 = 3;
/// Type of a message that is a call: a [`GcnCall`].
pub const CALL: u32 = 4;

/// One slot.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcnMessage {
    /// Non-zero while the slot holds a message. Written last.
    pub written: u32,
    /// Text. libgomp: `msg`.
    pub label: [u8; TEXT],
    /// Type of the message: [`INTEGER`] to [`CALL`]. libgomp: `type`.
    pub kind: u32,
    /// The value after the label: an `i64` or a `double` in the first word, text of [`TEXT`] bytes,
    /// or a [`GcnCall`].
    pub value: [u64; TEXT / 8],
}

/// The `value` of a message of type [`CALL`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcnCall {
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
    pub dev_num: u64,
    /// Device address of the caller's `int`; 0 if the caller waits for the slot's `written`.
    pub signal: u64,
}

/// The wire, in mapped memory. libgomp: `struct output`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GcnQueue {
    /// The kernel's result; not used for reverse offload.
    pub return_value: i32,
    /// Tickets drawn by the device.
    pub next_output: u32,
    /// The slots.
    pub queue: [GcnMessage; SLOTS as usize],
    /// Tickets whose slots may be used again; written by the host.
    pub consumed: u32,
    /// Padding; not read.
    pub reserved: u32,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<GcnMessage>() == 264 && align_of::<GcnMessage>() == 8);
    assert!(offset_of!(GcnMessage, written) == 0);
    assert!(offset_of!(GcnMessage, label) == 4);
    assert!(offset_of!(GcnMessage, kind) == 132);
    assert!(offset_of!(GcnMessage, value) == 136);

    assert!(size_of::<GcnCall>() == 56 && align_of::<GcnCall>() == 8);
    assert!(offset_of!(GcnCall, func) == 0);
    assert!(offset_of!(GcnCall, mapnum) == 8);
    assert!(offset_of!(GcnCall, addrs) == 16);
    assert!(offset_of!(GcnCall, sizes) == 24);
    assert!(offset_of!(GcnCall, kinds) == 32);
    assert!(offset_of!(GcnCall, dev_num) == 40);
    assert!(offset_of!(GcnCall, signal) == 48);

    assert!(size_of::<GcnQueue>() == 270352 && align_of::<GcnQueue>() == 8);
    assert!(offset_of!(GcnQueue, return_value) == 0);
    assert!(offset_of!(GcnQueue, next_output) == 4);
    assert!(offset_of!(GcnQueue, queue) == 8);
    assert!(offset_of!(GcnQueue, consumed) == 270344);
    assert!(offset_of!(GcnQueue, reserved) == 270348);
};
