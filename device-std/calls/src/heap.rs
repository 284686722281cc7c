//! The heap.

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Device memory for the heap of a program.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct HeapPiece {
    /// Its device address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
}

/// Allocations of a program on its heap. Sizes are those that it asked for. An allocation that is
/// resized remains the same one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct HeapStatistics {
    /// The number of allocations.
    pub allocations: u64,
    /// The number of allocations that were not freed.
    pub live: u64,
    /// The bytes of allocations that were not freed.
    pub live_bytes: u64,
    /// The most bytes that were allocated at the same time.
    pub peak_bytes: u64,
}
