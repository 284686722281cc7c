//! Elements of messages.

use core::fmt;

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes};

/// A number that messages consist of.
pub trait Element: FromBytes + IntoBytes + Immutable + Copy {
    /// Its type.
    const DATATYPE: Datatype;
}

/// The type of an [`Element`], as it is sent to the host. A newtype: the host does not trust the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datatype(
    /// The number.
    pub u32,
);

/// How elements are combined, as it is sent to the host. A newtype: the host does not trust the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation(
    /// The number.
    pub u32,
);

/// Defines the constants of a newtype. `revoff_mpi.h` has the same.
macro_rules! constants {
    ($type:ident: $($(#[doc = $doc:expr])* $name:ident = $number:literal;)*) => {
        impl $type {
            /// All, with their names.
            pub const ALL: &[(&str, Self)] = &[$((stringify!($name), Self::$name)),*];

            $(
                $(#[doc = $doc])*
                pub const $name: Self = Self($number);
            )*
        }

        impl fmt::Display for $type {
            /// Its name, or the number if it has none.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match Self::ALL.iter().find(|(_, value)| value == self) {
                    Some((name, _)) => f.write_str(name),
                    None => self.0.fmt(f),
                }
            }
        }
    };
}

constants! {
    Operation:
    /// The sum. Integers wrap around.
    SUM = 0;
    /// The product. Integers wrap around.
    PRODUCT = 1;
    /// The smallest.
    MIN = 2;
    /// The largest.
    MAX = 3;
    /// Bitwise and, of integers.
    AND = 4;
    /// Bitwise or, of integers.
    OR = 5;
    /// Bitwise exclusive or, of integers.
    XOR = 6;
}

macro_rules! datatypes {
    ($($name:ident = $number:literal: $type:ty;)*) => {
        constants! {
            Datatype:
            $(
                #[doc = concat!("`", stringify!($type), "`")]
                $name = $number;
            )*
        }
        $(
            impl Element for $type {
                const DATATYPE: Datatype = Datatype::$name;
            }
        )*
    };
}

datatypes! {
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
