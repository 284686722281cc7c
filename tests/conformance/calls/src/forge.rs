//! Requests that no device runtime writes, for a kernel to put on the wire.

use host_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

/// Raw arguments of a forged request on `native`.
pub const MAX_ENTRIES: usize = 24;

/// A request on `native`, word by word.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "host_fn::zerocopy")]
#[repr(C)]
pub struct Native {
    /// Function word.
    pub func: u64,
    /// The slot, which must be unused otherwise.
    pub slot: u32,
    /// An addend to the correct sequence number.
    pub jump: u32,
    /// Number of arguments.
    pub mapnum: u32,
    /// First block of the bounce extent.
    pub bounce_first: u32,
    /// Blocks of the extent.
    pub bounce_blocks: u32,
    /// Key of the launch; 0 for the kernel's own.
    pub launch: u32,
    /// The location of the entries: 0 the slot, 1 the start of the bounce area.
    pub entries_at: u32,
    /// Entries of `entries`.
    pub count: u32,
    /// Address, size, and `kind | place << 16 | offset << 32` of each.
    pub entries: [[u64; 3]; MAX_ENTRIES],
}

/// A request on one of GCC's wires, word by word, in the form of GCC's own device code: without a
/// bounce extent.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "host_fn::zerocopy")]
#[repr(C)]
pub struct Gcc {
    /// Function word.
    pub func: u64,
    /// Number of arguments.
    pub mapnum: u64,
    /// Device address of the addresses.
    pub addrs: u64,
    /// Device address of the sizes.
    pub sizes: u64,
    /// Device address of the kinds.
    pub kinds: u64,
    /// `gcc-ring`, `gcn-queue`: device address of the completion word; 0 on `gcn-queue` for a reply
    /// in the slot.
    pub signal: u64,
    /// `gcc-ring`, `gcn-queue`: an addend to the ticket counter, instead of a request.
    pub jump: u32,
    /// `gcn-queue`: type of the message.
    pub kind: u32,
}
