//! Tables of frozen items: each row is compared with Rust here and with C in
//! [`c_header`](crate::c_header).

/// A type, with literal numbers.
pub(crate) struct Type {
    pub(crate) c_name: &'static str,
    pub(crate) size: usize,
    pub(crate) align: usize,
    pub(crate) fields: &'static [Field],
}

/// A field of a type.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    /// The Rust type as written.
    pub(crate) ty: &'static str,
}

/// A constant, with its literal value.
pub(crate) struct Constant {
    pub(crate) c_name: &'static str,
    pub(crate) value: Value,
}

/// The value of a constant.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    /// An integer of any width.
    Int(i128),
    /// A symbol's name.
    Text(&'static str),
}

macro_rules! int_values {
    ($($int:ty)*) => {
        $(impl From<$int> for Value {
            fn from(value: $int) -> Value {
                Value::Int(value as i128)
            }
        })*
    };
}
int_values!(u8 u16 u32 i32 u64 usize);

impl From<&'static str> for Value {
    fn from(value: &'static str) -> Value {
        Value::Text(value)
    }
}

/// `TYPE as "c_name", size N, align N { field: type = offset, .. }` for each
/// type: the rows `TYPES`, and a test that the compiler agrees. Leaving a field
/// out does not compile.
macro_rules! types {
    ($($name:ident as $c_name:literal, size $size:literal, align $align:literal {
        $($field:ident: $ty:ty = $offset:literal,)*
    })*) => {
        pub(crate) const TYPES: &[crate::table::Type] = &[$(crate::table::Type {
            c_name: $c_name,
            size: $size,
            align: $align,
            fields: &[$(crate::table::Field {
                name: stringify!($field),
                offset: $offset,
                size: size_of::<$ty>(),
                ty: stringify!($ty),
            },)*],
        },)*];

        #[test]
        fn layouts() {
            $({
                assert_eq!(size_of::<$name>(), $size, stringify!($name));
                assert_eq!(align_of::<$name>(), $align, stringify!($name));
                $(
                    let offset = core::mem::offset_of!($name, $field);
                    assert_eq!(offset, $offset, "{}.{}", stringify!($name), stringify!($field));
                    let _: fn(&$name) -> &$ty = |value| &value.$field;
                )*
                crate::table::types!(@all $name $($field)*);
            })*
        }
    };
    // A newtype: only its size and alignment are compared.
    (@all $name:ident) => {};
    (@all $name:ident $($field:ident)+) => {
        let _ = |$name { $($field: _),+ }: $name| ();
    };
}

/// `"C_NAME": constant => literal,` for each constant: the rows `CONSTANTS`, and
/// a test that the compiler agrees.
macro_rules! constants {
    ($($c_name:literal: $constant:expr => $value:expr,)*) => {
        pub(crate) fn constants() -> Vec<crate::table::Constant> {
            vec![$(crate::table::Constant {
                c_name: $c_name,
                value: {
                    #[allow(unused_assignments, reason = "gives the literal the constant's type")]
                    let value = { let mut _typed = $constant; _typed = $value; _typed };
                    value.into()
                },
            },)*]
        }

        #[test]
        fn values() {
            $(assert_eq!($constant, $value, $c_name);)*
        }
    };
}

pub(crate) use {constants, types};

/// A type of which every byte belongs to a field.
///
/// # Safety
/// The type has no padding, as RULES.md requires of every boundary type.
pub(crate) unsafe trait NoPadding {}

/// The bytes of a value as the other side sees them.
pub(crate) fn bytes<T: NoPadding>(value: &T) -> &[u8] {
    // SAFETY: the bytes lie inside `value`, which is borrowed for as long as the
    // result, and `NoPadding` says that each of them is initialised.
    unsafe { core::slice::from_raw_parts(core::ptr::from_ref(value).cast(), size_of::<T>()) }
}

macro_rules! no_padding {
    ($($name:ty)*) => {
        $(
            // SAFETY: the offsets and sizes in this file's table leave no gap,
            // which `no_padding_in_the_tables` checks for every row.
            unsafe impl crate::table::NoPadding for $name {}
        )*
    };
}
pub(crate) use no_padding;

/// Bytes 1, 2, 3, .. to fill large structs with. No two words within 256 bytes are the same.
pub(crate) fn counted(len: usize) -> Vec<u8> {
    (0..len).map(count).collect()
}

/// The `u32` that has the bytes of [`counted`] at an offset.
pub(crate) fn count32(offset: usize) -> u32 {
    u32::from_le_bytes(core::array::from_fn(|i| count(offset + i)))
}

/// The `u64` that has the bytes of [`counted`] at an offset.
pub(crate) fn count64(offset: usize) -> u64 {
    u64::from_le_bytes(core::array::from_fn(|i| count(offset + i)))
}

// 251 is prime: the pattern does not repeat at a power of two.
fn count(at: usize) -> u8 {
    (at % 251 + 1) as u8
}

#[test]
fn no_padding_in_the_tables() {
    for row in crate::v2::TYPES.iter().chain(crate::gcc::TYPES) {
        let mut end = 0;
        for field in row.fields {
            assert_eq!(field.offset, end, "{}.{}", row.c_name, field.name);
            end += field.size;
        }
        assert!(row.fields.is_empty() || end == row.size, "{}", row.c_name);
    }
}
