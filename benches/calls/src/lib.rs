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

    /// Takes the [`message`] `number` of this `thread`, and complements each of its words. Returns the number.
    pub fn exchange(thread: u32, number: u64, words: &mut [u64]) -> u64;
}

/// The most words of a message: more than a slot of `native` holds for each of 32 lanes.
pub const MAX_WORDS: usize = 64;

/// The message `number` of a thread in [`exchange`]: 1 to [`MAX_WORDS`] words, which no other message has.
#[must_use]
pub fn message(thread: u32, number: u64, words: &mut [u64; MAX_WORDS]) -> &mut [u64] {
    let words = &mut words[..1 + (number % MAX_WORDS as u64) as usize];
    for (word, at) in words.iter_mut().zip(0..) {
        let place = u64::from(thread) << 40 | at << 32;
        // Odd, so that numbers that differ give products that differ.
        *word = (place ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    words
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
