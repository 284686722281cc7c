//! Conversions between floats of 16 and of 32 bits.
//!
//! They work on bits without a branch, so that a compiler computes several at once. A NaN keeps its
//! sign and the upper bits of its payload. To more bits it remains what it is; to fewer bits it
//! becomes quiet.

#![no_std]

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

/// A half as a float. Exact.
#[inline(always)]
#[must_use]
pub fn half_to_single(bits: u16) -> f32 {
    /// The smallest normal half.
    const NORMAL: u32 = (127 - 14) << 23;
    let bits = u32::from(bits);
    let sign = (bits & 0x8000) << 16;
    let magnitude = (bits & 0x7fff) << 13;
    let subnormal = f32::from_bits(magnitude | NORMAL) - f32::from_bits(NORMAL);
    let magnitude = match magnitude >> 23 {
        0 => subnormal.to_bits(),
        0x1f => magnitude | INFINITY,
        _ => magnitude + ((127 - 15) << 23),
    };
    f32::from_bits(sign | magnitude)
}

/// The nearest half, the even one of two.
#[inline(always)]
#[must_use]
pub fn single_to_half(value: f32) -> u16 {
    /// Its last bit is that of subnormal halves.
    const SUBNORMAL: f32 = 0.5;
    let magnitude = value.to_bits() & !SIGN;
    let subnormal = (f32::from_bits(magnitude) + SUBNORMAL).to_bits() - SUBNORMAL.to_bits();
    // The exponent changes, and what is less than half of the last bit does not carry.
    let even = magnitude >> 13 & 1;
    let normal = magnitude
        .wrapping_sub((127 - 15) << 23)
        .wrapping_add(0xfff + even)
        >> 13;
    half_of(value, subnormal, normal, |magnitude| {
        magnitude >= (127 + 16) << 23
    })
}

/// The half next to it, or itself, in the direction of zero.
#[inline(always)]
#[must_use]
pub fn single_to_half_toward_zero(value: f32) -> u16 {
    let magnitude = value.to_bits() & !SIGN;
    let significand = magnitude & 0x7f_ffff | 0x80_0000;
    let shift = (127 - 14 + 13u32).saturating_sub(magnitude >> 23).min(31);
    let normal = magnitude.wrapping_sub((127 - 15) << 23) >> 13;
    let normal = if magnitude >= (127 + 16) << 23 {
        0x7bff
    } else {
        normal
    };
    half_of(value, significand >> shift, normal, |magnitude| {
        magnitude == INFINITY
    })
}

/// The half of one of two magnitudes, or infinite, or not a number.
#[inline(always)]
fn half_of(value: f32, subnormal: u32, normal: u32, infinite: impl Fn(u32) -> bool) -> u16 {
    let magnitude = value.to_bits() & !SIGN;
    let mut half = if magnitude < (127 - 14) << 23 {
        subnormal
    } else {
        normal
    };
    if infinite(magnitude) {
        half = 0x7c00;
    }
    if magnitude > INFINITY {
        half = 0x7e00 | (magnitude >> 13 & 0x3ff);
    }
    (half | (value.to_bits() & SIGN) >> 16) as u16
}

/// A bfloat as a float. Exact.
#[inline(always)]
#[must_use]
pub fn bfloat_to_single(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bfloat, the even one of two.
#[inline(always)]
#[must_use]
pub fn single_to_bfloat(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let bits = if bits & !SIGN > INFINITY {
        bits | 0x40_0000
    } else {
        rounded
    };
    (bits >> 16) as u16
}

#[cfg(test)]
mod tests {
    use rustc_apfloat::ieee::{BFloat, Half, Single};
    use rustc_apfloat::{Float, FloatConvert, Round};

    use super::*;

    fn bits_of<F: Float>(value: F) -> u32 {
        value.to_bits() as u32
    }

    #[test]
    fn halves_become_floats() {
        for bits in 0..=u16::MAX {
            let half = Half::from_bits(bits.into());
            let exact: Single = half.convert(&mut false).value;
            let single = half_to_single(bits);
            assert!(
                half.is_nan() && single.is_nan() || bits_of(exact) == single.to_bits(),
                "{bits:#x}"
            );
            let quiet = if half.is_nan() { 0x200 } else { 0 };
            assert_eq!(single_to_half(single), bits | quiet);
            assert_eq!(single_to_half_toward_zero(single), bits | quiet);
        }
    }

    #[test]
    fn floats_become_halves_and_bfloats() {
        // Around each half and each bfloat, and around the middle to the next.
        let around = (0..=u16::MAX).flat_map(|upper| {
            let middle = half_to_single(upper).to_bits();
            let at = [
                middle,
                middle + 0x1000,
                u32::from(upper) << 16,
                u32::from(upper) << 16 | 0x8000,
            ];
            at.into_iter()
                .flat_map(|at| (0..3).map(move |step| at.wrapping_add(step).wrapping_sub(1)))
        });
        for bits in around {
            let value = f32::from_bits(bits);
            if value.is_nan() {
                assert_eq!(single_to_bfloat(value), (bits >> 16) as u16 | 0x40);
                continue;
            }
            let exact = Single::from_bits(bits.into());
            let half = |round| -> Half { exact.convert_r(round, &mut false).value };
            let bfloat: BFloat = exact.convert(&mut false).value;
            let nearest = half(Round::NearestTiesToEven);
            assert_eq!(
                u32::from(single_to_half(value)),
                bits_of(nearest),
                "{bits:#x}"
            );
            let lower = half(Round::TowardZero);
            assert_eq!(
                u32::from(single_to_half_toward_zero(value)),
                bits_of(lower),
                "{bits:#x}"
            );
            assert_eq!(
                u32::from(single_to_bfloat(value)),
                bits_of(bfloat),
                "{bits:#x}"
            );
        }
    }
}
