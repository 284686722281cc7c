//! The steps of a division. Their sequences in compiled code round the quotient correctly:
//!
//! - `scale` multiplies numerator, denominator or both by powers of two, so that no step in between
//!   has a subnormal or infinite result. Its bit says whether the quotient then lacks a factor.
//! - Steps of multiplication and addition compute the quotient.
//! - `fmas` is the last of them, and multiplies by the factor that lacks.
//! - `fixup` has the results for operands that are not ordinary numbers.
//!
//! The manuals' text differs in two places, neither of which divides correctly: `fmas` multiplies by
//! 2^32 (2^64 for doubles) only, and `scale` multiplies a denominator whose reciprocal is subnormal
//! by 2^64, which makes it infinite, if the quotient is subnormal too.

use super::float::{Float, result_of};
use super::scale::{scaled_double, scaled_single};
use super::table::arithmetic;
use super::value::F16;
use crate::isa::ValuOp;

/// Limits that depend on the width.
struct Limits {
    /// The exponent of the factor.
    factor: i32,
    /// The difference of exponents from which the quotient is too large.
    large: i32,
    /// The exponent up to which a numerator is too small.
    small: i32,
    /// The difference of exponents below which the quotient is zero.
    zero: i32,
}

const SINGLE: Limits = Limits {
    factor: 64,
    large: 96,
    small: 23,
    zero: -150,
};
const DOUBLE: Limits = Limits {
    factor: 128,
    large: 768,
    small: 53,
    zero: -1075,
};

/// A condition for scaling.
#[derive(Clone, Copy)]
struct Subnormal {
    denominator: bool,
    reciprocal: bool,
    quotient: bool,
}

/// The exponent of the factor for the operand, and whether the quotient lacks one.
#[inline(always)]
fn scale(
    exponents: [i32; 2],
    subnormal: Subnormal,
    is_denominator: bool,
    is_numerator: bool,
    limits: &Limits,
) -> (i32, bool) {
    let [numerator, denominator] = exponents;
    let only = |scaled: bool, factor: i32| if scaled { factor } else { 0 };
    if numerator - denominator >= limits.large {
        (only(is_denominator, limits.factor), true)
    } else if subnormal.denominator {
        (limits.factor, false)
    } else if subnormal.reciprocal && subnormal.quotient {
        (only(is_denominator, -limits.factor), true)
    } else if subnormal.reciprocal {
        (-limits.factor, false)
    } else if subnormal.quotient {
        (only(is_numerator, limits.factor), true)
    } else if numerator <= limits.small {
        (limits.factor, false)
    } else {
        (0, false)
    }
}

#[inline(always)]
fn scale_single(a: f32, denominator: f32, numerator: f32) -> (f32, bool) {
    let is_small = |value: f32| value != 0.0 && value.abs() < f32::MIN_POSITIVE;
    let subnormal = Subnormal {
        denominator: is_small(denominator),
        reciprocal: is_small(1.0 / denominator),
        quotient: is_small(numerator / denominator),
    };
    let exponents = [numerator.biased(), denominator.biased()];
    let (is_denominator, is_numerator) = (a == denominator, a == numerator);
    let (factor, lacks) = scale(exponents, subnormal, is_denominator, is_numerator, &SINGLE);
    if numerator == 0.0 || denominator == 0.0 {
        return (f32::NAN, false);
    }
    (result_of([a], scaled_single(a, factor)), lacks)
}

#[inline(always)]
fn scale_double(a: f64, denominator: f64, numerator: f64) -> (f64, bool) {
    let is_small = |value: f64| value != 0.0 && value.abs() < f64::MIN_POSITIVE;
    let subnormal = Subnormal {
        denominator: is_small(denominator),
        reciprocal: is_small(1.0 / denominator),
        quotient: is_small(numerator / denominator),
    };
    let exponents = [numerator.biased(), denominator.biased()];
    let (is_denominator, is_numerator) = (a == denominator, a == numerator);
    let (factor, lacks) = scale(exponents, subnormal, is_denominator, is_numerator, &DOUBLE);
    if numerator == 0.0 || denominator == 0.0 {
        return (f64::NAN, false);
    }
    (result_of([a], scaled_double(a, factor)), lacks)
}

/// Returns a sum and its rounding error. The error is exact.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

/// Rounds `value + rest` to odd: to the neighbour whose last bit is 1, unless the rest is zero.
#[inline(always)]
fn odd(value: f64, rest: f64) -> f64 {
    let bits = value.to_bits();
    let toward_zero = (rest < 0.0) != (value < 0.0);
    let lower = bits.wrapping_sub(u64::from(toward_zero));
    if value.is_finite() && value != 0.0 && rest != 0.0 {
        f64::from_bits(lower | 1)
    } else {
        value
    }
}

/// The exponent of the factor that a quotient lacks.
#[inline(always)]
fn missing_factor(biased: i32, bias: i32, factor: i32) -> i32 {
    if biased > bias { factor } else { -factor }
}

#[inline(always)]
fn fmas_single(a: f32, b: f32, c: f32, lacks: bool) -> f32 {
    // The product is exact, and the sum is odd: it rounds as the exact sum does.
    let product = f64::from(a) * f64::from(b);
    let (sum, rest) = two_sum(product, c.into());
    let factor = missing_factor(c.biased(), 127, SINGLE.factor);
    let scaled = scaled_double(odd(sum, rest), factor) as f32;
    result_of([a, b, c], if lacks { scaled } else { a.mul_add(b, c) })
}

#[inline(always)]
fn fmas_double(a: f64, b: f64, c: f64, lacks: bool) -> f64 {
    let fused = a.mul_add(b, c);
    let product = a * b;
    let (sum, rest) = two_sum(product, c);
    // Rounding error of `fused`; scaled operands do not make it subnormal.
    let rest = (sum - fused) + (rest + a.mul_add(b, -product));
    let factor = missing_factor(c.biased(), 1023, DOUBLE.factor);
    let scaled = scaled_double(fused, factor);
    // Exact, both differences. In the middle of two subnormal numbers the rest decides.
    let above = scaled_double(scaled, -factor) - fused;
    let is_middle = factor < 0 && above.abs() == scaled_double(0.5, -1074 - factor);
    let correction = match () {
        _ if is_middle && above > 0.0 && rest < 0.0 => -f64::from_bits(1),
        _ if is_middle && above < 0.0 && rest > 0.0 => f64::from_bits(1),
        _ => -0.0,
    };
    result_of([a, b, c], if lacks { scaled + correction } else { fused })
}

/// Class of a quotient whose operands are no NaNs.
#[derive(Clone, Copy, PartialEq)]
enum Quotient {
    Ordinary,
    Zero,
    Infinite,
    Invalid,
}

#[inline(always)]
fn kind_of<F: Float>(numerator: F, denominator: F, zero: F, infinity: F, limit: i32) -> Quotient {
    let (zero_by, infinite_by) = (numerator == zero, numerator == infinity);
    let (by_zero, by_infinite) = (denominator == zero, denominator == infinity);
    if zero_by && by_zero || infinite_by && by_infinite {
        Quotient::Invalid
    } else if by_zero || infinite_by {
        Quotient::Infinite
    } else if by_infinite || zero_by || numerator.biased() - denominator.biased() < limit {
        Quotient::Zero
    } else {
        Quotient::Ordinary
    }
}

macro_rules! fixup {
    ($($name:ident $F:ident $limits:ident;)*) => {$(
        #[inline(always)]
        fn $name(quotient: $F, denominator: $F, numerator: $F) -> $F {
            let [q, d, n] = [quotient, denominator, numerator].map($F::abs);
            let kind = kind_of(n, d, 0.0, $F::INFINITY, $limits.zero);
            let magnitude = match kind {
                // So large that not even the scaled quotient was a number.
                Quotient::Ordinary if Float::is_nan(q) => $F::INFINITY,
                Quotient::Ordinary => q,
                Quotient::Zero => 0.0,
                Quotient::Infinite => $F::INFINITY,
                Quotient::Invalid => <$F as Float>::NAN,
            };
            // The NaN of an invalid division is negative.
            let negative = numerator.is_sign_negative() != denominator.is_sign_negative()
                || kind == Quotient::Invalid;
            let signed = if negative { -magnitude } else { magnitude };
            let result = if Float::is_nan(denominator) { denominator.quiet() } else { signed };
            if Float::is_nan(numerator) { numerator.quiet() } else { result }
        }
    )*};
}

fixup! {
    fixup_single f32 SINGLE;
    fixup_double f64 DOUBLE;
}

arithmetic! { ValuOp;
    v_div_scale_f32: (a: f32, denominator: f32, numerator: f32) -> (f32, bool) {
        scale_single(a, denominator, numerator)
    };
    v_div_scale_f64: (a: f64, denominator: f64, numerator: f64) -> (f64, bool) {
        scale_double(a, denominator, numerator)
    };
    v_div_fmas_f32: (a: f32, b: f32, c: f32, lacks: bool) -> f32 { fmas_single(a, b, c, lacks) };
    v_div_fmas_f64: (a: f64, b: f64, c: f64, lacks: bool) -> f64 { fmas_double(a, b, c, lacks) };
    v_div_fixup_f32: (quotient: f32, denominator: f32, numerator: f32) -> f32 {
        fixup_single(quotient, denominator, numerator)
    };
    v_div_fixup_f64: (quotient: f64, denominator: f64, numerator: f64) -> f64 {
        fixup_double(quotient, denominator, numerator)
    };
    v_div_fixup_f16 | v_div_fixup_legacy_f16: (quotient: F16, denominator: F16, numerator: F16)
        -> F16 {
        let [q, d, n] = [quotient, denominator, numerator].map(F16::single);
        F16::nearest(fixup_single(q, d, n))
    };
}
