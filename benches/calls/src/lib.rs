//! Shared by the benchmark kernels and their host: the host functions, and the format of counted
//! times.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod buckets;
pub mod rpc;

revoff_fn::host_functions! {
    /// Does nothing.
    pub fn nothing();

    /// Adds one to the first byte, so that both sides can verify the copy.
    pub fn touch(data: &mut [u8; 64]);

    /// Like `touch`, with more data than a slot holds.
    pub fn touch_large(data: &mut [u8; 4096]);

    /// Takes [`WORK_NS`] nanoseconds of the host's time.
    pub fn work();
}

/// The duration of `work`, in nanoseconds.
pub const WORK_NS: u64 = 10_000;

/// The kernel's loop calls nothing, which shows the cost of measuring.
pub const MEASURE: u32 = 0;

/// The kernel's loop calls the host function `bare`, without arguments, directly by
/// `GOMP_target_ext`.
pub const EMPTY: u32 = 1;

/// The kernel's loop calls [`touch`].
pub const TOFROM: u32 = 2;

/// The kernel's loop calls [`nothing`].
pub const TYPED: u32 = 3;

/// The kernel's loop calls [`touch_large`].
pub const LARGE: u32 = 4;

/// The kernel's loop calls [`work`].
pub const WORK: u32 = 5;

/// The name of the host function that is called without a declaration.
pub const BARE: &str = "bare";

/// The offset of the word that the kernel of the floor writes, in the memory that it shares with
/// the host. It is far from the other word, since processors fetch lines in pairs.
pub const PING: usize = 0;

/// The offset of the word with the host's answer.
pub const PONG: usize = 512;

/// The size of that memory in bytes.
pub const FLAGS: usize = 1024;
