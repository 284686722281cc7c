//! What the search example and its kernel call each other with: the host launches the
//! kernel with its own data, and the kernel calls the host in the middle.
#![no_std]

use host_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

/// Looks for `pattern` in the lines of `text`, and tells the host each line that has it.
/// A line ends before a line feed. Of `tallies` there is one for each device thread.
#[host_fn::kernel]
pub fn search(text: &[u8], pattern: &[u8], tallies: Out<[Tally]>);

host_fn::host_functions! {
    /// Takes a line that has the pattern: the bytes of the text from `start` to `end`.
    /// Returns `STOP` if the thread need not look on.
    pub fn found(start: u64, end: u64) -> u32;
}

/// The host has seen enough.
pub const STOP: u32 = 1;

/// What one device thread has seen.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "host_fn::zerocopy")]
#[repr(C)]
pub struct Tally {
    /// Lines that it looked at.
    pub lines: u64,
    /// Those that have the pattern.
    pub matches: u64,
}
