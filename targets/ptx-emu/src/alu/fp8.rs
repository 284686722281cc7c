//! Pairs of floats of 8 bits. Source: the PTX ISA, "Alternate Floating-Point Data Formats" and
//! "Data Movement and Conversion Instructions: cvt".

use rustc_apfloat::ieee::{Double, Float8E4M3FN, Float8E5M2, Half};
use rustc_apfloat::{Float, FloatConvert, Round};
use small_floats::half_to_single;

use super::half::{halves, whole};
use super::{Bin, Un, Value, scalar};
use crate::text::types::Type;

/// The NaN that conversions make, of both formats.
const NAN: u8 = 0x7f;

/// To the nearest; what is too large becomes the largest.
fn narrow<F: Float, const RELU: bool>(value: f64) -> u8
where
    Double: FloatConvert<F>,
{
    if value.is_nan() {
        return NAN;
    }
    if RELU && value.is_sign_negative() {
        return 0;
    }
    let exact = Double::from_bits(u128::from(value.to_bits()));
    let rounded: F = exact.convert_r(Round::NearestTiesToEven, &mut false).value;
    let result = if rounded.is_finite() {
        rounded
    } else {
        F::largest().copy_sign(if value < 0.0 {
            -F::largest()
        } else {
            F::largest()
        })
    };
    result.to_bits() as u8
}

fn wide<F: Float + FloatConvert<Half>, const RELU: bool>(bits: u8) -> u16 {
    let value: Half = F::from_bits(u128::from(bits)).convert(&mut false).value;
    if value.is_nan() {
        return 0x7fff;
    }
    if RELU && value.is_negative() {
        return 0;
    }
    value.to_bits() as u16
}

fn of_singles<F: Float, const RELU: bool>(a: u64, b: u64) -> u64
where
    Double: FloatConvert<F>,
{
    let [high, low] = [a, b].map(|bits| narrow::<F, RELU>(f32::get(bits).into()));
    u64::from(high) << 8 | u64::from(low)
}

fn of_halves<F: Float, const RELU: bool>(a: u64) -> u64
where
    Double: FloatConvert<F>,
{
    let [low, high] = halves(a).map(|bits| narrow::<F, RELU>(half_to_single(bits).into()));
    u64::from(high) << 8 | u64::from(low)
}

fn to_halves<F: Float + FloatConvert<Half>, const RELU: bool>(a: u64) -> u64 {
    whole([a as u8, (a >> 8) as u8].map(wide::<F, RELU>))
}

macro_rules! by_type {
    ($ty:expr, $relu:expr, $Kind:ident, $f:ident, $($operand:ident),+) => {
        Some($Kind {
            one: match ($ty, $relu) {
                (Type::E4m3x2, false) => scalar!($f::<Float8E4M3FN, false>, $($operand),+),
                (Type::E4m3x2, true) => scalar!($f::<Float8E4M3FN, true>, $($operand),+),
                (Type::E5m2x2, false) => scalar!($f::<Float8E5M2, false>, $($operand),+),
                (Type::E5m2x2, true) => scalar!($f::<Float8E5M2, true>, $($operand),+),
                _ => return None,
            },
            all: None,
        })
    };
}

/// Two floats of 32 bits to a pair of type `to`.
pub(crate) fn from_singles(to: Type, relu: bool) -> Option<Bin> {
    by_type!(to, relu, Bin, of_singles, a, b)
}

/// A pair of half precision to one of type `to`.
pub(crate) fn from_halves(to: Type, relu: bool) -> Option<Un> {
    by_type!(to, relu, Un, of_halves, a)
}

/// A pair of type `from` to one of half precision.
pub(crate) fn into_halves(from: Type, relu: bool) -> Option<Un> {
    by_type!(from, relu, Un, to_halves, a)
}
