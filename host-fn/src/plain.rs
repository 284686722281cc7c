//! Types that can be passed between device and host.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Plain data: any bytes of the right size are a value, and a value is its bytes
/// and nothing else. All values that pass between device and host have such types.
///
/// Implemented for all types with zerocopy's [`FromBytes`], [`IntoBytes`] and
/// [`Immutable`]: integers, floats, arrays of them, and structures that derive
/// all three (see [`revoff_fn::zerocopy`](crate::zerocopy)). `bool`, `char` and enums
/// are not plain data, because the other side may send bytes that are none of their
/// values. Neither are pointers, because they are invalid on the other side: a
/// device address is passed as a `u64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data: it cannot travel between device and host",
    label = "not plain data",
    note = "put this before a structure of your own:\n#[derive(revoff_fn::zerocopy::FromBytes, revoff_fn::zerocopy::IntoBytes, revoff_fn::zerocopy::Immutable)]\n#[zerocopy(crate = \"revoff_fn::zerocopy\")]\n#[repr(C)]",
    note = "its fields must leave no padding: put fields of integers where the compiler would put some",
    note = "if the structure has these derives already, fix the error that they report first",
    note = "in place of a `bool`, a `char` or an enum pass an integer, in place of a pointer its address as a `u64`"
)]
pub trait Plain: FromBytes + IntoBytes + Immutable {}

// Gives this message instead of one for each of the three traits.
#[diagnostic::do_not_recommend]
impl<T: FromBytes + IntoBytes + Immutable> Plain for T {}
