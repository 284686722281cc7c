//! The host functions that the digest kernel calls.
#![no_std]

revoff_fn::host_functions! {
    /// Hands out the next file to hash: its number, or `NONE` when there are no more.
    pub fn next_file() -> u32;

    /// Reads the next bytes of `file` into `buffer`. Returns the number of bytes,
    /// fewer than the buffer has only at the end, or `FAILED`.
    pub fn read_chunk(file: u32, buffer: Out<[u8]>) -> u32;

    /// Takes the SHA-256 digest of `file`.
    pub fn report(file: u32, digest: &[u8; 32]);
}

/// No file.
pub const NONE: u32 = u32::MAX;

/// The file could not be read; the host knows why.
pub const FAILED: u32 = u32::MAX;
