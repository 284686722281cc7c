//! Packed arithmetic: on two halves of each operand, and dot products of parts of words.

use super::dot;
use super::float::{max, max_num, maximum, min, min_num, minimum};
use super::half;
use super::integer::{saturated_i32, saturated_u32};
use super::packed_table::{Mixed, PackedResult, Parts, packed};
use super::single;
use super::value::{BF16, F16};
use crate::isa::PackedOp;

/// Applies a function to each half of two operands.
#[inline(always)]
fn both<A: Copy, B: Copy, R>(a: [A; 2], b: [B; 2], one: impl Fn(A, B) -> R) -> [R; 2] {
    [one(a[0], b[0]), one(a[1], b[1])]
}

/// Applies a function to each half of three operands.
#[inline(always)]
fn all<T: Copy, R>(a: [T; 2], b: [T; 2], c: [T; 2], one: impl Fn(T, T, T) -> R) -> [R; 2] {
    [one(a[0], b[0], c[0]), one(a[1], b[1], c[1])]
}

#[inline(always)]
fn saturated_u16(a: u32) -> u16 {
    a.min(u16::MAX.into()) as u16
}

/// The parts of a word, as floats.
#[inline(always)]
fn bytes(word: u32, of: impl Fn(u8) -> f32) -> [f32; 4] {
    word.to_le_bytes().map(of)
}

/// A float of 8 bits with an exponent of 4, which has no infinity.
#[inline(always)]
fn fp8(bits: u8) -> f32 {
    // As a half it has another bias.
    let wide = F16(u16::from(bits & 0x80) << 8 | u16::from(bits & 0x7f) << 7).single() * 256.0;
    if bits & 0x7f == 0x7f { f32::NAN } else { wide }
}

/// A float of 8 bits with an exponent of 5.
#[inline(always)]
fn bf8(bits: u8) -> f32 {
    F16(u16::from(bits) << 8).single()
}

/// The sum of products, of which each step is rounded.
#[inline(always)]
fn dot4(a: [f32; 4], b: [f32; 4], sum: f32) -> f32 {
    (0..4).fold(sum, |sum, at| single::add(sum, single::mul(a[at], b[at])))
}

#[inline(always)]
fn with_low(old: u32, value: f32) -> u32 {
    old & 0xffff_0000 | u32::from(F16::nearest(value).0)
}

#[inline(always)]
fn with_high(old: u32, value: f32) -> u32 {
    old & 0xffff | u32::from(F16::nearest(value).0) << 16
}

packed! { PackedOp;
    v_pk_mad_i16: (a: [i16; 2], b: [i16; 2], c: [i16; 2]) -> [i16; 2] {
        all(a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
    } clamp {
        all(a, b, c, |a, b, c| {
            let sum = i64::from(a) * i64::from(b) + i64::from(c);
            sum.clamp(i16::MIN.into(), i16::MAX.into()) as i16
        })
    };
    v_pk_mad_u16: (a: [u16; 2], b: [u16; 2], c: [u16; 2]) -> [u16; 2] {
        all(a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
    } clamp {
        all(a, b, c, |a, b, c| saturated_u16((u32::from(a) * u32::from(b)).saturating_add(c.into())))
    };
    v_pk_mul_lo_u16: (a: [u16; 2], b: [u16; 2]) -> [u16; 2] { both(a, b, u16::wrapping_mul) }
        clamp { both(a, b, u16::saturating_mul) };
    v_pk_add_i16: (a: [i16; 2], b: [i16; 2]) -> [i16; 2] { both(a, b, i16::wrapping_add) }
        clamp { both(a, b, i16::saturating_add) };
    v_pk_sub_i16: (a: [i16; 2], b: [i16; 2]) -> [i16; 2] { both(a, b, i16::wrapping_sub) }
        clamp { both(a, b, i16::saturating_sub) };
    v_pk_add_u16: (a: [u16; 2], b: [u16; 2]) -> [u16; 2] { both(a, b, u16::wrapping_add) }
        clamp { both(a, b, u16::saturating_add) };
    v_pk_sub_u16: (a: [u16; 2], b: [u16; 2]) -> [u16; 2] { both(a, b, u16::wrapping_sub) }
        clamp { both(a, b, u16::saturating_sub) };
    v_pk_lshlrev_b16: (a: [u16; 2], b: [u16; 2]) -> [u16; 2] { both(a, b, |a, b| b << (a & 15)) };
    v_pk_lshrrev_b16: (a: [u16; 2], b: [u16; 2]) -> [u16; 2] { both(a, b, |a, b| b >> (a & 15)) };
    v_pk_ashrrev_i16: (a: [u16; 2], b: [i16; 2]) -> [i16; 2] { both(a, b, |a, b| b >> (a & 15)) };
    v_pk_min_i16: (a: [i16; 2], b: [i16; 2]) -> [i16; 2] { both(a, b, i16::min) };
    v_pk_max_i16: (a: [i16; 2], b: [i16; 2]) -> [i16; 2] { both(a, b, i16::max) };
    v_pk_min_u16: (a: [u16; 2], b: [u16; 2]) -> [u16; 2] { both(a, b, u16::min) };
    v_pk_max_u16: (a: [u16; 2], b: [u16; 2]) -> [u16; 2] { both(a, b, u16::max) };

    v_pk_fma_f16: (a: [F16; 2], b: [F16; 2], c: [F16; 2]) -> [F16; 2] { all(a, b, c, half::fma) };
    v_pk_add_f16: (a: [F16; 2], b: [F16; 2]) -> [F16; 2] {
        both(a, b, |a, b| half::binary(a, b, |a, b| a + b))
    };
    v_pk_mul_f16: (a: [F16; 2], b: [F16; 2]) -> [F16; 2] {
        both(a, b, |a, b| half::binary(a, b, |a, b| a * b))
    };
    v_pk_min_f16: (a: [F16; 2], b: [F16; 2]) -> [F16; 2] {
        both(a, b, |a, b| half::select(a, b, min))
    };
    v_pk_max_f16: (a: [F16; 2], b: [F16; 2]) -> [F16; 2] {
        both(a, b, |a, b| half::select(a, b, max))
    };
    v_pk_min_num_f16: (a: [F16; 2], b: [F16; 2]) -> [F16; 2] {
        both(a, b, |a, b| half::select(a, b, min_num))
    };
    v_pk_max_num_f16: (a: [F16; 2], b: [F16; 2]) -> [F16; 2] {
        both(a, b, |a, b| half::select(a, b, max_num))
    };
    v_pk_minimum_f16: (a: [F16; 2], b: [F16; 2]) -> [F16; 2] {
        both(a, b, |a, b| half::select(a, b, minimum))
    };
    v_pk_maximum_f16: (a: [F16; 2], b: [F16; 2]) -> [F16; 2] {
        both(a, b, |a, b| half::select(a, b, maximum))
    };

    v_pk_fma_f32: (a: [f32; 2], b: [f32; 2], c: [f32; 2]) -> [f32; 2] {
        all(a, b, c, single::fma)
    };
    v_pk_mul_f32: (a: [f32; 2], b: [f32; 2]) -> [f32; 2] { both(a, b, single::mul) };
    v_pk_add_f32: (a: [f32; 2], b: [f32; 2]) -> [f32; 2] { both(a, b, single::add) };
    v_pk_mov_b32: (a: [u32; 2], b: [u32; 2]) -> [u32; 2] { [a[0], b[0]] };

    v_fma_mix_f32: (a: Mixed, b: Mixed, c: Mixed) -> f32 { single::fma(a.0, b.0, c.0) };
    // The other half of the destination stays.
    v_fma_mixlo_f16: (a: Mixed, b: Mixed, c: Mixed; old: u32) -> u32 {
        with_low(old, single::fma(a.0, b.0, c.0))
    } clamp { with_low(old, single::fma(a.0, b.0, c.0).clamped()) };
    v_fma_mixhi_f16: (a: Mixed, b: Mixed, c: Mixed; old: u32) -> u32 {
        with_high(old, single::fma(a.0, b.0, c.0))
    } clamp { with_high(old, single::fma(a.0, b.0, c.0).clamped()) };

    v_dot2_f32_f16: (a: [F16; 2], b: [F16; 2], c: f32) -> f32 {
        dot::floats(a.map(F16::single), b.map(F16::single), c)
    };
    v_dot2_f32_bf16: (a: [BF16; 2], b: [BF16; 2], c: f32) -> f32 {
        dot::floats(a.map(BF16::single), b.map(BF16::single), c)
    };
    v_dot2_i32_i16: (a: [i16; 2], b: [i16; 2], c: i32) -> i32 {
        dot::pairs(a.map(i64::from), b.map(i64::from), c.into()) as i32
    } clamp { saturated_i32(dot::pairs(a.map(i64::from), b.map(i64::from), c.into())) };
    v_dot2_u32_u16: (a: [u16; 2], b: [u16; 2], c: u32) -> u32 {
        dot::pairs(a.map(i64::from), b.map(i64::from), c.into()) as u32
    } clamp {
        saturated_u32(dot::pairs(a.map(i64::from), b.map(i64::from), c.into()).cast_unsigned())
    };
    v_dot4_i32_i8: (a: u32, b: u32, c: i32) -> i32 { dot::signed(8, a, b, c.into()) as i32 }
        clamp { saturated_i32(dot::signed(8, a, b, c.into())) };
    v_dot4_u32_u8: (a: u32, b: u32, c: u32) -> u32 { dot::unsigned(8, a, b, c.into()) as u32 }
        clamp { saturated_u32(dot::unsigned(8, a, b, c.into())) };
    v_dot8_i32_i4: (a: u32, b: u32, c: i32) -> i32 { dot::signed(4, a, b, c.into()) as i32 }
        clamp { saturated_i32(dot::signed(4, a, b, c.into())) };
    v_dot8_u32_u4: (a: u32, b: u32, c: u32) -> u32 { dot::unsigned(4, a, b, c.into()) as u32 }
        clamp { saturated_u32(dot::unsigned(4, a, b, c.into())) };
    v_dot4_i32_iu8: (a: Parts, b: Parts, c: i32) -> i32 {
        dot::mixed(8, a.word, a.signed, b.word, b.signed, c.into()) as i32
    } clamp { saturated_i32(dot::mixed(8, a.word, a.signed, b.word, b.signed, c.into())) };
    v_dot8_i32_iu4: (a: Parts, b: Parts, c: i32) -> i32 {
        dot::mixed(4, a.word, a.signed, b.word, b.signed, c.into()) as i32
    } clamp { saturated_i32(dot::mixed(4, a.word, a.signed, b.word, b.signed, c.into())) };
    v_dot4_f32_fp8_fp8: (a: u32, b: u32, c: f32) -> f32 { dot4(bytes(a, fp8), bytes(b, fp8), c) };
    v_dot4_f32_fp8_bf8: (a: u32, b: u32, c: f32) -> f32 { dot4(bytes(a, fp8), bytes(b, bf8), c) };
    v_dot4_f32_bf8_fp8: (a: u32, b: u32, c: f32) -> f32 { dot4(bytes(a, bf8), bytes(b, fp8), c) };
    v_dot4_f32_bf8_bf8: (a: u32, b: u32, c: f32) -> f32 { dot4(bytes(a, bf8), bytes(b, bf8), c) };
}
