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

/// What a kernel calls over and over: the host function `bare`, without arguments,
/// by `GOMP_target_ext` alone.
pub const EMPTY: u32 = 1;

/// What a kernel calls over and over: [`touch`].
pub const TOFROM: u32 = 2;

/// What a kernel calls over and over: [`nothing`].
pub const TYPED: u32 = 3;

/// The host function that is called without a declaration: its name.
pub const BARE: &str = "bare";
