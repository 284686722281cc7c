//! Types of lanes.

use small_floats::{
    bfloat_to_single, half_to_single, single_to_bfloat, single_to_half, single_to_half_toward_zero,
};

/// The type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    /// 16 bits without a sign.
    U16,
    /// 16 bits with a sign.
    I16,
    /// A float of 16 bits.
    F16,
    /// A bfloat of 16 bits.
    BF16,
    /// 32 bits without a sign.
    U32,
    /// 32 bits with a sign.
    I32,
    /// A float of 32 bits.
    F32,
    /// 64 bits without a sign.
    U64,
    /// 64 bits with a sign.
    I64,
    /// A float of 64 bits.
    F64,
}

impl Type {
    /// The number of bits.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 16,
            Self::U32 | Self::I32 | Self::F32 => 32,
            Self::U64 | Self::I64 | Self::F64 => 64,
        }
    }

    /// The number of rows.
    pub(crate) const fn rows(self) -> usize {
        self.bits().div_ceil(32) as usize
    }

    /// Whether it is a float.
    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }
}

/// A value of a lane.
pub(crate) trait Lane: Copy {
    const TYPE: Type;

    /// The value in the words of one row, or of two.
    fn from_words(words: [u32; 2]) -> Self;

    /// Its words. Bits beyond those of the type are zero.
    fn words(self) -> [u32; 2];
}

/// A float of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct F16(pub(crate) u16);

impl F16 {
    /// The value. Exact.
    #[inline(always)]
    pub(crate) fn single(self) -> f32 {
        half_to_single(self.0)
    }

    /// The nearest, the even one of two.
    #[inline(always)]
    pub(crate) fn nearest(value: f32) -> Self {
        Self(single_to_half(value))
    }

    /// The next one in the direction of zero.
    #[inline(always)]
    pub(crate) fn toward_zero(value: f32) -> Self {
        Self(single_to_half_toward_zero(value))
    }
}

/// A bfloat of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BF16(pub(crate) u16);

impl BF16 {
    /// The value. Exact.
    #[inline(always)]
    pub(crate) fn single(self) -> f32 {
        bfloat_to_single(self.0)
    }

    /// The nearest, the even one of two.
    #[inline(always)]
    pub(crate) fn nearest(value: f32) -> Self {
        Self(single_to_bfloat(value))
    }
}

/// The value if a float has it, else of the two next to it the one whose last bit is 1: to round it
/// to fewer bits then is to round the value itself.
#[inline(always)]
pub(crate) fn odd_single(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    let bits = nearest.to_bits();
    let lower = bits.wrapping_sub(u32::from(back.abs() > value.abs()));
    if back != value && !value.is_nan() {
        return f32::from_bits(lower | 1);
    }
    nearest
}

macro_rules! lane {
    ($($Type:ident $T:ty: |$bits:ident| $get:expr, |$value:ident| $put:expr;)*) => {$(
        impl Lane for $T {
            const TYPE: Type = Type::$Type;

            #[inline(always)]
            fn from_words([low, high]: [u32; 2]) -> Self {
                let $bits = u64::from(high) << 32 | u64::from(low);
                $get
            }

            #[inline(always)]
            fn words(self) -> [u32; 2] {
                let $value = self;
                let bits = u64::from($put);
                [bits as u32, (bits >> 32) as u32]
            }
        }
    )*};
}

lane! {
    U16 u16: |bits| bits as u16, |value| value;
    I16 i16: |bits| bits as i16, |value| value.cast_unsigned();
    F16 F16: |bits| Self(bits as u16), |value| value.0;
    BF16 BF16: |bits| Self(bits as u16), |value| value.0;
    U32 u32: |bits| bits as u32, |value| value;
    I32 i32: |bits| bits as i32, |value| value.cast_unsigned();
    F32 f32: |bits| f32::from_bits(bits as u32), |value| value.to_bits();
    U64 u64: |bits| bits, |value| value;
    I64 i64: |bits| bits.cast_signed(), |value| value.cast_unsigned();
    F64 f64: |bits| f64::from_bits(bits), |value| value.to_bits();
}
