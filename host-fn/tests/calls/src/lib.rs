//! Declarations for the tests of `host-fn`.
//!
//! A separate crate under this workspace's lints: generated code must be as clean as handwritten
//! code, and a program that links it and only binds must not need `GOMP_target_ext`.

#![no_std]

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

/// Larger than what fits an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Stats {
    /// Calls so far.
    pub calls: u64,
    /// Bytes so far.
    pub bytes: u64,
}

/// Fits an address, with an odd size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Colour(
    /// Red, green, blue.
    pub [u8; 3],
);

revoff_fn::host_functions! {
    /// Reads up to `buf.len()` bytes of `file` at `offset`; returns how many.
    pub fn read_chunk(file: u32, offset: u64, buf: Out<[u8]>) -> u32;
    pub fn report(file: u32, digest: &[u8; 32], stats: &mut Stats);
    /// A call without arguments.
    pub fn ping();
    /// Values of up to and above the eight bytes that an address holds, including none. Parameters
    /// have names that generated code might use.
    pub fn values(
        reply: i8, status: f64, arguments: Colour, message: Stats, function: u128, params: [u8; 0],
    ) -> Stats;
    /// Every form that passes memory.
    pub fn lend(
        to: &u32, to_slice: &[u16], tofrom: &mut u64, tofrom_slice: &mut [u32],
        from: Out<i128>, from_slice: Out<[Stats]>,
    ) -> u128;
    /// More parameters than clippy likes.
    pub fn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8) -> u8;
    /// A name that needs its prefix.
    pub fn r#type(value: u8) -> u8;
}

/// y[i] += a * x[i]
#[revoff_fn::kernel]
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]);

/// Every form, with parameters whose names generated code might use.
#[revoff_fn::kernel]
pub fn shapes(
    grid: u8,
    launcher: &Stats,
    arguments: &[u16],
    argument_0: &mut u64,
    len_1: &mut [u32],
    params: Out<Colour>,
    body: Out<[Stats]>,
);

/// Writes to a device address that its caller vouches for.
#[revoff_fn::kernel]
pub unsafe fn touch(address: u64);

/// No parameters, and a keyword as its name.
#[revoff_fn::kernel]
pub fn r#loop();
