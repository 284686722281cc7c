//! The calls between the search example and its kernel: the host launches the kernel with its own
//! data, and the running kernel calls the host.
#![no_std]

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

/// Searches for `pattern` in the lines of `text`, and reports each matching line to the host. A
/// line ends before a line feed. `tallies` has one element for each device thread.
#[revoff_fn::kernel]
pub fn search(text: &[u8], pattern: &[u8], tallies: Out<[Tally]>);

revoff_fn::host_functions! {
    /// Receives a matching line: the bytes of the text from `start` to `end`. Returns `STOP` if the
    /// thread may stop.
    pub fn found(start: u64, end: u64) -> u32;
}

/// The host needs no more lines.
pub const STOP: u32 = 1;

/// The counts of one device thread.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Tally {
    /// Lines that it searched.
    pub lines: u64,
    /// Lines that match.
    pub matches: u64,
}
