//! What the benchmark kernels and their host share: the host functions, and how
//! times are counted.
#![no_std]

pub mod buckets;

host_fn::host_functions! {
    /// Does nothing.
    pub fn nothing();

    /// Adds one to the first byte, so that both sides can tell that it travelled.
    pub fn touch(data: &mut [u8; 64]);
}

/// What a kernel calls over and over: nothing at all, which shows what measuring
/// costs.
pub const MEASURE: u32 = 0;

/// What a kernel calls over and over: [`nothing`].
pub const EMPTY: u32 = 1;

/// What a kernel calls over and over: [`touch`].
pub const TOFROM: u32 = 2;
