//! What the benchmark kernels and their host share: the host functions, and how
//! times are counted.
#![no_std]

pub mod buckets;

host_fn::host_functions! {
    /// Does nothing.
    pub fn nothing();

    /// Adds one to the first byte, so that both sides can tell that it travelled.
    pub fn touch(data: &mut [u8; 64]);

    /// As `touch`, with more than fits beside a request.
    pub fn touch_large(data: &mut [u8; 4096]);

    /// Takes [`WORK_NS`] of the host's time.
    pub fn work();
}

/// How long `work` lasts, in nanoseconds.
pub const WORK_NS: u64 = 10_000;

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

/// What a kernel calls over and over: [`touch_large`].
pub const LARGE: u32 = 4;

/// What a kernel calls over and over: [`work`].
pub const WORK: u32 = 5;

/// The host function that is called without a declaration: its name.
pub const BARE: &str = "bare";

/// Where the word that the kernel of the floor writes stands in the memory that it
/// shares with the host: far from the other, since processors fetch lines in pairs.
pub const PING: usize = 0;

/// Where the word stands that the host answers with.
pub const PONG: usize = 512;

/// Bytes of that memory.
pub const FLAGS: usize = 1024;
