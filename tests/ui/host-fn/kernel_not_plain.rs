//! One of each form, with a type that is not plain data.

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

/// Holds padding, a `bool` and a pointer, and derives nothing.
pub struct Handle {
    open: bool,
    name: *const u8,
}

/// Has seven bytes of padding.
#[derive(FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Padded {
    small: u8,
    large: u64,
}

/// Holds a reference.
#[derive(IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(transparent)]
pub struct Holds(&'static u32);

/// Plain, but no number.
#[derive(FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct Pair(u32, u32);

#[revoff_fn::kernel]
pub fn lent(handle: &Handle);

#[revoff_fn::kernel]
pub fn slice(flags: &mut [bool]);

#[revoff_fn::kernel]
pub fn out(letter: Out<char>);

#[revoff_fn::kernel]
pub fn by_value(pair: Pair);

#[revoff_fn::kernel]
pub fn truth(flag: bool);

fn main() {}
