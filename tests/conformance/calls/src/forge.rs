//! Requests that no device runtime writes, for a kernel to put on the wire.

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

/// Rows of a forged request on `native`.
pub const MAX_ROWS: usize = 64;

/// Entries that a forged request on `native` has in its bounce extent.
pub const MAX_ENTRIES: usize = 65;

/// The requests of one slot of `native`, word by word.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Native {
    /// The slot, which must be unused otherwise.
    pub slot: u32,
    /// An addend to the correct sequence number.
    pub jump: u32,
    /// The number of lanes by which rows are placed.
    pub lanes: u32,
    /// Lanes that write a request, all the same one, from rank 0 on.
    pub writing: u32,
    /// Rows of each.
    pub rows: u32,
    /// A row of the last lane with another sequence number; none has it if it is not a row.
    pub missing: u32,
    /// The data of the rows. A launch of 0 becomes that of the kernel.
    pub data: [u64; MAX_ROWS],
    /// Entries of `entries`, which are at the start of the bounce area.
    pub in_bounce: u32,
    /// Not used.
    pub reserved: u32,
    /// Address, size, and `kind | place << 16 | offset << 32` of each.
    pub entries: [[u64; 3]; MAX_ENTRIES],
}

/// A request on one of GCC's wires, word by word, in the form of GCC's own device code: without a
/// bounce extent.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
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
