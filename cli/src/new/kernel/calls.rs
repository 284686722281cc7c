#![no_std]

revoff_fn::host_functions! {
    /// Reads the file from `offset` on into `buffer`; returns the number of bytes.
    pub fn read_chunk(offset: u64, buffer: Out<[u8]>) -> u32;
}

/// Adds the bytes of the file to `total`.
#[revoff_fn::kernel]
pub fn sum(total: &mut u64);
