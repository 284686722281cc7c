//! Multiplication by powers of two, rounded once.

use super::float::Float;

/// 2 to the power of an exponent that normal numbers have.
#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A float times 2 to the power of `exponent`.
#[inline(always)]
pub(crate) fn scaled_single(a: f32, exponent: i32) -> f32 {
    // Exact: the exponents of floats are less than those of doubles by far.
    (f64::from(a) * power(exponent.clamp(-400, 400))) as f32
}

/// A double times 2 to the power of `exponent`.
#[inline(always)]
pub(crate) fn scaled_double(a: f64, exponent: i32) -> f64 {
    /// The exponent of 2 that makes subnormal numbers normal ones, and the other way round.
    const STEP: i32 = 64;
    if a == 0.0 || !a.is_finite() {
        return a;
    }
    let is_subnormal = a.abs() < f64::MIN_POSITIVE;
    let normal = if is_subnormal { a * power(STEP) } else { a };
    let step = if is_subnormal { STEP } else { 0 };
    let biased = normal.biased() - step + exponent.clamp(-3000, 3000);
    let with = |biased: i32| {
        let rest = normal.to_bits() & !f64::INFINITY.to_bits();
        f64::from_bits(rest | (biased as u64) << 52)
    };
    if biased >= 2047 {
        f64::INFINITY.copysign(a)
    } else if biased >= 1 {
        with(biased)
    } else if biased >= -STEP {
        // Rounded here.
        with(biased + STEP + 1) * power(-STEP - 1)
    } else {
        0.0_f64.copysign(a)
    }
}
