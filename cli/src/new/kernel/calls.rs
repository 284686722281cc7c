#![no_std]

host_fn::host_functions! {
    /// Reads the file from `offset` on into `buffer`; returns the number of bytes.
    pub fn read_chunk(offset: u64, buffer: Out<[u8]>) -> u32;
}

/// Adds the bytes of the file to `total`.
#[host_fn::kernel]
pub fn sum(total: &mut u64);
