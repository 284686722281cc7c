//! The host functions that the conformance kernels call, and what kernels and
//! host pass each other in memory.
#![no_std]

pub mod forge;
pub mod launch;

use host_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

host_fn::host_functions! {
    /// Does what the test at hand makes of `what`.
    pub fn act(what: u64) -> u64;

    /// What the parallel reverse-offload patch tests itself with: a few values
    /// go, one comes back.
    pub fn tally(tag: i32, team: i32, thread: i32, sum: Out<i32>);

    /// Every form that only reads.
    pub fn read_forms(words: &[u32], pair: &Pair, big: [u8; 24], small: u8, float: f64) -> u64;

    /// Every form that writes. Returns more than eight bytes.
    pub fn write_forms(words: &mut [u64], pair: &mut Pair, fill: Out<[u16]>, one: Out<Pair>) -> Pair;

    /// Neither arguments nor a result.
    pub fn nothing();
}

/// A line that takes several messages, of which no two parts are the same.
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

/// A structure that travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "host_fn::zerocopy")]
#[repr(C)]
pub struct Pair {
    /// One half.
    pub left: u64,
    /// The other.
    pub right: u64,
}

/// What threads that speak on their launch's own queue are to do, and what they found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "host_fn::zerocopy")]
#[repr(C)]
pub struct Spoken {
    /// Function word of the calls.
    pub func: u64,
    /// Calls of each thread.
    pub rounds: u32,
    /// First ticket that the first thread has drawn.
    pub ticket: u32,
}

/// What became of the calls of one device thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "host_fn::zerocopy")]
#[repr(C)]
pub struct Outcome {
    /// Sum of the results.
    pub sum: u64,
    /// Calls with a result.
    pub ok: u32,
    /// Calls without.
    pub failed: u32,
    /// Status of the last call without.
    pub status: u32,
    /// Not used.
    pub reserved: u32,
}

/// A call of `GOMP_target_ext` that a kernel makes for a test. What is an address
/// is one of device memory.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "host_fn::zerocopy")]
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
    /// Address of the data that goes to the stack.
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

/// In the offsets of a call whose data is on the stack: the argument's address is
/// null.
pub const NULL: u64 = u64::MAX;

/// In the same place, a bit: the argument is the value of the other bits.
pub const VALUE: u64 = 1 << 63;

/// Most arguments of a call whose data is on the stack.
pub const MAX_STACK_ARGS: usize = 128;

/// Bytes of data on the stack of `call_stack`.
pub const STACK_BYTES: usize = 64 << 10;

/// Bytes of data on the stack of `call_deep_stack`.
pub const DEEP_STACK_BYTES: usize = 320 << 10;
