//! The host functions that the conformance kernels call, and the data that kernels and host
//! exchange in memory.
#![no_std]

pub mod forge;
pub mod launch;

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

revoff_fn::host_functions! {
    /// The current test decides what it does with `what`.
    pub fn act(what: u64) -> u64;

    /// The function of the parallel reverse-offload patch's own tests: takes a few values, returns
    /// one.
    pub fn tally(tag: i32, team: i32, thread: i32, sum: Out<i32>);

    /// Every form that only reads.
    pub fn read_forms(words: &[u32], pair: &Pair, big: [u8; 24], small: u8, float: f64) -> u64;

    /// Every form that writes. Returns more than eight bytes.
    pub fn write_forms(words: &mut [u64], pair: &mut Pair, fill: Out<[u16]>, one: Out<Pair>) -> Pair;

    /// A value and bytes, no result.
    pub fn note(value: u64, text: &[u8]);

    /// No arguments and no result.
    pub fn nothing();
}

/// A line that takes several messages, all parts of which differ.
pub const LONG_LINE: &str = concat!(
    "00 all happy families are alike; each unhappy family is unh.",
    "01 all happy families are alike; each unhappy family is unh.",
    "02 all happy families are alike; each unhappy family is unh.",
    "03 all happy families are alike; each unhappy family is unh.",
    "04 all happy families are alike; each unhappy family is unh.",
    "05 all happy families are alike; each unhappy family is unh.",
    "06 all happy families are alike; each unhappy family is unh.",
    "07 all happy families are alike; each unhappy family is unh.",
    "08 all happy families are alike; each unhappy family is unh.",
    "09 all happy families are alike; each unhappy family is unh\n",
);

/// A structure passed to functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Pair {
    /// One half.
    pub left: u64,
    /// The other.
    pub right: u64,
}

/// Input and output of threads that use their launch's own queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Spoken {
    /// Function word of the calls.
    pub func: u64,
    /// Calls of each thread.
    pub rounds: u32,
    /// The ticket that the first thread drew first.
    pub ticket: u32,
}

/// The outcome of the calls of one device thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Outcome {
    /// Sum of the results.
    pub sum: u64,
    /// Calls that succeeded.
    pub ok: u32,
    /// Calls that failed.
    pub failed: u32,
    /// Status of the last failed call.
    pub status: u32,
    /// Not used.
    pub reserved: u32,
}

/// A call of `GOMP_target_ext` that a kernel makes for a test. All addresses are of device memory.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct RawCall {
    /// Function word.
    pub func: u64,
    /// Number of arguments.
    pub count: u64,
    /// Address of their addresses, or of their offsets in the data.
    pub addrs: u64,
    /// Address of their sizes.
    pub sizes: u64,
    /// Address of their kinds.
    pub kinds: u64,
    /// Address of the word for the status.
    pub status: u64,
    /// Address of the data that is copied to the stack.
    pub data: u64,
    /// Bytes of it.
    pub len: u64,
    /// Device number of the call.
    pub device: i32,
    /// Its flags.
    pub flags: u32,
}

/// A result of [`act`] after which the thread makes no further call.
pub const STOP: u64 = 1 << 63;

/// An offset of a call with its data on the stack: the argument's address is null.
pub const NULL: u64 = u64::MAX;

/// A flag of such an offset: the argument is the value of the other bits.
pub const VALUE: u64 = 1 << 63;

/// Maximum arguments of a call with its data on the stack.
pub const MAX_STACK_ARGS: usize = 128;

/// Bytes of data on the stack of `call_stack`.
pub const STACK_BYTES: usize = 64 << 10;

/// Bytes of data on the stack of `call_deep_stack`.
pub const DEEP_STACK_BYTES: usize = 320 << 10;
