//! Conversions. Floats become the nearest integer in the direction of zero that the type has, and 0
//! if they are NaNs.

use super::float::result_of;
use super::table::arithmetic;
use super::value::F16;
use crate::isa::ValuOp;

/// The nearest float of 32 bits.
#[inline(always)]
fn narrowed(a: f64) -> f32 {
    let payload = (a.to_bits() >> 29) as u32 & 0x3f_ffff;
    let nan = f32::from_bits(0x7fc0_0000 | payload).copysign(if a.is_sign_negative() {
        -1.0
    } else {
        1.0
    });
    if a.is_nan() { nan } else { a as f32 }
}

/// The same value as a float of 64 bits.
#[inline(always)]
fn widened(a: f32) -> f64 {
    let sign = u64::from(a.to_bits() >> 31) << 63;
    let payload = u64::from(a.to_bits() & 0x3f_ffff) << 29;
    let nan = f64::from_bits(0x7ff8_0000_0000_0000 | sign | payload);
    if a.is_nan() { nan } else { a.into() }
}

/// A fraction of the largest integer of 16 bits with a sign.
#[inline(always)]
fn signed_norm(a: f32) -> i16 {
    (f64::from(a).clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16
}

/// A fraction of the largest integer of 16 bits without a sign.
#[inline(always)]
fn unsigned_norm(a: f32) -> u16 {
    (f64::from(a).clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16
}

#[inline(always)]
fn pair(low: u16, high: u16) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

#[inline(always)]
fn signed_pair(low: i16, high: i16) -> u32 {
    pair(low.cast_unsigned(), high.cast_unsigned())
}

/// A byte of a word, as a float.
#[inline(always)]
fn byte(word: u32, at: u32) -> f32 {
    (word >> (8 * at) & 0xff) as f32
}

/// A word with the float in one of its bytes, rounded to nearest.
#[inline(always)]
fn with_byte(a: f32, at: u32, word: u32) -> u32 {
    let shift = (at & 3) * 8;
    word & !(0xff << shift) | u32::from(a.round_ties_even() as u8) << shift
}

arithmetic! { ValuOp;
    v_cvt_i32_f64: (a: f64) -> i32 { a as i32 };
    v_cvt_u32_f64: (a: f64) -> u32 { a as u32 };
    v_cvt_i32_f32: (a: f32) -> i32 { a as i32 };
    v_cvt_u32_f32: (a: f32) -> u32 { a as u32 };
    v_cvt_i16_f16: (a: F16) -> i16 { a.single() as i16 };
    v_cvt_u16_f16: (a: F16) -> u16 { a.single() as u16 };
    v_cvt_floor_i32_f32: (a: f32) -> i32 { a.floor() as i32 };
    v_cvt_nearest_i32_f32: (a: f32) -> i32 { (a + 0.5).floor() as i32 };
    v_cvt_f64_i32: (a: i32) -> f64 { a.into() };
    v_cvt_f64_u32: (a: u32) -> f64 { a.into() };
    v_cvt_f32_i32: (a: i32) -> f32 { a as f32 };
    v_cvt_f32_u32: (a: u32) -> f32 { a as f32 };
    v_cvt_f16_i16: (a: i16) -> F16 { F16::nearest(a.into()) };
    v_cvt_f16_u16: (a: u16) -> F16 { F16::nearest(a.into()) };
    v_cvt_f32_ubyte0: (a: u32) -> f32 { byte(a, 0) };
    v_cvt_f32_ubyte1: (a: u32) -> f32 { byte(a, 1) };
    v_cvt_f32_ubyte2: (a: u32) -> f32 { byte(a, 2) };
    v_cvt_f32_ubyte3: (a: u32) -> f32 { byte(a, 3) };
    v_cvt_off_f32_i4: (a: i32) -> f32 { (a << 28 >> 28) as f32 / 16.0 };
    v_cvt_i32_i16: (a: i16) -> i32 { a.into() };
    v_cvt_u32_u16: (a: u16) -> u32 { a.into() };

    v_cvt_f32_f64: (a: f64) -> f32 { narrowed(a) };
    v_cvt_f64_f32: (a: f32) -> f64 { widened(a) };
    v_cvt_f16_f32: (a: f32) -> F16 { F16::nearest(a) };
    v_cvt_f32_f16: (a: F16) -> f32 { result_of([a.single()], a.single()) };
    v_cvt_pk_rtz_f16_f32: (a: f32, b: f32) -> u32 {
        pair(F16::toward_zero(a).0, F16::toward_zero(b).0)
    };

    v_cvt_pk_i16_i32: (a: i32, b: i32) -> u32 {
        let [low, high] = [a, b].map(|a| a.clamp(i16::MIN.into(), i16::MAX.into()) as i16);
        signed_pair(low, high)
    };
    v_cvt_pk_u16_u32: (a: u32, b: u32) -> u32 {
        let [low, high] = [a, b].map(|a| a.min(u16::MAX.into()) as u16);
        pair(low, high)
    };
    v_cvt_pk_i16_f32: (a: f32, b: f32) -> u32 { signed_pair(a as i16, b as i16) };
    v_cvt_pk_u16_f32: (a: f32, b: f32) -> u32 { pair(a as u16, b as u16) };
    v_cvt_pk_u8_f32: (a: f32, at: u32, word: u32) -> u32 { with_byte(a, at, word) };
    v_cvt_pkaccum_u8_f32: (a: f32, at: u32; word: u32) -> u32 { with_byte(a, at, word) };
    v_sat_pk_u8_i16: (a: u32) -> u16 {
        let byte = |word: u16| word.cast_signed().clamp(0, 255) as u16;
        byte((a >> 16) as u16) << 8 | byte(a as u16)
    };

    v_cvt_norm_i16_f16: (a: F16) -> i16 { signed_norm(a.single()) };
    v_cvt_norm_u16_f16: (a: F16) -> u16 { unsigned_norm(a.single()) };
    v_cvt_pknorm_i16_f32 | v_cvt_pk_norm_i16_f32: (a: f32, b: f32) -> u32 {
        signed_pair(signed_norm(a), signed_norm(b))
    };
    v_cvt_pknorm_u16_f32 | v_cvt_pk_norm_u16_f32: (a: f32, b: f32) -> u32 {
        pair(unsigned_norm(a), unsigned_norm(b))
    };
    v_cvt_pknorm_i16_f16 | v_cvt_pk_norm_i16_f16: (a: F16, b: F16) -> u32 {
        signed_pair(signed_norm(a.single()), signed_norm(b.single()))
    };
    v_cvt_pknorm_u16_f16 | v_cvt_pk_norm_u16_f16: (a: F16, b: F16) -> u32 {
        pair(unsigned_norm(a.single()), unsigned_norm(b.single()))
    };
}
