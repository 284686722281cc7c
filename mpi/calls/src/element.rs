//! What messages consist of.

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

/// A number that messages consist of.
pub trait Element: FromBytes + IntoBytes + Immutable + Copy {
    /// Its kind.
    const KIND: Kind;
}

/// A kind of [`Element`], as it is sent to the host. A newtype: the host does not trust the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(
    /// The number.
    pub u32,
);

/// How elements are combined, as it is sent to the host. A newtype: the host does not trust the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation(
    /// The number.
    pub u32,
);

impl Operation {
    /// The sum. Integers wrap around.
    pub const SUM: Self = Self(0);
    /// The product. Integers wrap around.
    pub const PRODUCT: Self = Self(1);
    /// The smallest.
    pub const MIN: Self = Self(2);
    /// The largest.
    pub const MAX: Self = Self(3);
    /// Bitwise and, of integers.
    pub const AND: Self = Self(4);
    /// Bitwise or, of integers.
    pub const OR: Self = Self(5);
    /// Bitwise exclusive or, of integers.
    pub const XOR: Self = Self(6);
}

macro_rules! kinds {
    ($($name:ident = $number:literal: $type:ty;)*) => {
        impl Kind {
            $(
                #[doc = concat!("`", stringify!($type), "`")]
                pub const $name: Self = Self($number);
            )*
        }
        $(
            impl Element for $type {
                const KIND: Kind = Kind::$name;
            }
        )*
    };
}

kinds! {
    U8 = 0: u8;
    I8 = 1: i8;
    U16 = 2: u16;
    I16 = 3: i16;
    U32 = 4: u32;
    I32 = 5: i32;
    U64 = 6: u64;
    I64 = 7: i64;
    F32 = 8: f32;
    F64 = 9: f64;
}
