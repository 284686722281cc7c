//! Types that a kernel takes by value.

use crate::plain::Plain;

/// A number that a kernel takes by value: an integer or a float of at most eight bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number: a kernel cannot take it by value",
    label = "not an integer or float of at most eight bytes",
    note = "pass a structure or an array by reference, in place of a `bool`, a `char` or an enum an integer"
)]
pub trait Scalar: Plain + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($scalar:ty)*) => {$(
        impl sealed::Sealed for $scalar {}
        impl Scalar for $scalar {}
    )*};
}

scalars!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);
