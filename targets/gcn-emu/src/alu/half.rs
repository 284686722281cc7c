//! Arithmetic of floats of 16 bits: computed with more bits and rounded once. A float of 32 bits has
//! enough of them for a sum, product, quotient or root to be rounded as if it were exact, a double has
//! enough for a fused product and sum.

use super::approximate::{cosine, exponential, logarithm, sine};
use super::dot;
use super::float::{Float, max, max_num, maximum, median, min, min_num, minimum, result_of};
use super::scale::scaled_single;
use super::table::arithmetic;
use super::value::{BF16, F16, odd_single};
use crate::isa::ValuOp;

/// Applies a function to one half.
#[inline(always)]
pub(crate) fn unary(a: F16, function: impl Fn(f32) -> f32) -> F16 {
    let a = a.single();
    F16::nearest(result_of([a], function(a)))
}

/// Applies a function to two halves.
#[inline(always)]
pub(crate) fn binary(a: F16, b: F16, function: impl Fn(f32, f32) -> f32) -> F16 {
    let [a, b] = [a, b].map(F16::single);
    F16::nearest(result_of([a, b], function(a, b)))
}

/// Selects one of two halves.
#[inline(always)]
pub(crate) fn select(a: F16, b: F16, function: impl Fn(f32, f32) -> f32) -> F16 {
    F16::nearest(function(a.single(), b.single()))
}

/// Selects one of three halves.
#[inline(always)]
fn select3(a: F16, b: F16, c: F16, function: impl Fn([f32; 3]) -> f32) -> F16 {
    F16::nearest(function([a, b, c].map(F16::single)))
}

#[inline(always)]
pub(crate) fn fma(a: F16, b: F16, c: F16) -> F16 {
    let [a, b, c] = [a, b, c].map(F16::single);
    let sum = odd_single(f64::from(a) * f64::from(b) + f64::from(c));
    F16::nearest(result_of([a, b, c], sum))
}

/// Zero with its sign if it is subnormal.
#[inline(always)]
fn flushed(a: F16) -> F16 {
    if a.0 & 0x7c00 == 0 {
        F16(a.0 & 0x8000)
    } else {
        a
    }
}

/// A product and a sum, each rounded, and without subnormal numbers.
#[inline(always)]
fn mad(a: F16, b: F16, c: F16) -> F16 {
    let product = flushed(binary(flushed(a), flushed(b), |a, b| a * b));
    let sum = flushed(binary(product, flushed(c), |a, b| a + b));
    let [a, b, c] = [a, b, c].map(F16::single);
    F16::nearest(result_of([a, b, c], sum.single()))
}

/// The value as a half has it.
#[inline(always)]
fn rounded(a: f32) -> f32 {
    F16::nearest(a).single()
}

#[inline(always)]
fn word(low: F16, high: F16) -> u32 {
    u32::from(high.0) << 16 | u32::from(low.0)
}

#[inline(always)]
fn low(word: u32) -> F16 {
    F16(word as u16)
}

#[inline(always)]
fn high(word: u32) -> F16 {
    F16((word >> 16) as u16)
}

arithmetic! { ValuOp;
    v_add_f16: (a: F16, b: F16) -> F16 { binary(a, b, |a, b| a + b) };
    v_sub_f16: (a: F16, b: F16) -> F16 { binary(a, b, |a, b| a - b) };
    v_subrev_f16: (a: F16, b: F16) -> F16 { binary(a, b, |a, b| b - a) };
    v_mul_f16: (a: F16, b: F16) -> F16 { binary(a, b, |a, b| a * b) };
    v_fma_f16 | v_fma_legacy_f16: (a: F16, b: F16, c: F16) -> F16 { fma(a, b, c) };
    v_fmac_f16: (a: F16, b: F16; sum: F16) -> F16 { fma(a, b, sum) };
    v_fmamk_f16: (a: F16, k: F16, b: F16) -> F16 { fma(a, k, b) };
    v_fmaak_f16: (a: F16, b: F16, k: F16) -> F16 { fma(a, b, k) };
    v_mad_f16 | v_mad_legacy_f16: (a: F16, b: F16, c: F16) -> F16 { mad(a, b, c) };
    v_mac_f16: (a: F16, b: F16; sum: F16) -> F16 { mad(a, b, sum) };
    v_madmk_f16: (a: F16, k: F16, b: F16) -> F16 { mad(a, k, b) };
    v_madak_f16: (a: F16, b: F16, k: F16) -> F16 { mad(a, b, k) };
    v_pk_fmac_f16: (a: u32, b: u32; sum: u32) -> u32 {
        word(fma(low(a), low(b), low(sum)), fma(high(a), high(b), high(sum)))
    };
    v_dot2_f16_f16: (a: u32, b: u32, c: F16) -> F16 {
        let sum = dot::narrow(dot::halves(a), dot::halves(b), c.single(), rounded);
        F16::nearest(sum)
    };
    v_dot2_bf16_bf16: (a: u32, b: u32, c: BF16) -> BF16 {
        let round = |value| BF16::nearest(value).single();
        BF16::nearest(dot::narrow(dot::bfloats(a), dot::bfloats(b), c.single(), round))
    };

    v_min_f16: (a: F16, b: F16) -> F16 { select(a, b, min) };
    v_max_f16: (a: F16, b: F16) -> F16 { select(a, b, max) };
    v_min3_f16: (a: F16, b: F16, c: F16) -> F16 { select3(a, b, c, |[a, b, c]| min(min(a, b), c)) };
    v_max3_f16: (a: F16, b: F16, c: F16) -> F16 { select3(a, b, c, |[a, b, c]| max(max(a, b), c)) };
    v_med3_f16: (a: F16, b: F16, c: F16) -> F16 { select3(a, b, c, |all| median(all, min, max)) };
    v_minmax_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| max(min(a, b), c))
    };
    v_maxmin_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| min(max(a, b), c))
    };
    v_min_num_f16: (a: F16, b: F16) -> F16 { select(a, b, min_num) };
    v_max_num_f16: (a: F16, b: F16) -> F16 { select(a, b, max_num) };
    v_min3_num_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| min_num(min_num(a, b), c))
    };
    v_max3_num_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| max_num(max_num(a, b), c))
    };
    v_med3_num_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |all| median(all, min_num, max_num))
    };
    v_minmax_num_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| max_num(min_num(a, b), c))
    };
    v_maxmin_num_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| min_num(max_num(a, b), c))
    };
    v_minimum_f16: (a: F16, b: F16) -> F16 { select(a, b, minimum) };
    v_maximum_f16: (a: F16, b: F16) -> F16 { select(a, b, maximum) };
    v_minimum3_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| minimum(minimum(a, b), c))
    };
    v_maximum3_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| maximum(maximum(a, b), c))
    };
    v_minimummaximum_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| maximum(minimum(a, b), c))
    };
    v_maximumminimum_f16: (a: F16, b: F16, c: F16) -> F16 {
        select3(a, b, c, |[a, b, c]| minimum(maximum(a, b), c))
    };

    v_fract_f16: (a: F16) -> F16 {
        /// The largest half that is less than 1.
        const LIMIT: f32 = 1.0 - 1.0 / 2048.0;
        unary(a, |a| if a.fraction() > LIMIT { LIMIT } else { a.fraction() })
    };
    v_trunc_f16: (a: F16) -> F16 { unary(a, f32::trunc) };
    v_ceil_f16: (a: F16) -> F16 { unary(a, f32::ceil) };
    v_floor_f16: (a: F16) -> F16 { unary(a, f32::floor) };
    v_rndne_f16: (a: F16) -> F16 { unary(a, f32::round_ties_even) };
    v_frexp_mant_f16: (a: F16) -> F16 { unary(a, f32::significand) };
    v_frexp_exp_i16_f16: (a: F16) -> i16 { a.single().exponent() as i16 };
    v_ldexp_f16: (a: F16, exponent: i16) -> F16 { unary(a, |a| scaled_single(a, exponent.into())) };

    v_exp_f16 | v_s_exp_f16: (a: F16) -> F16 { unary(a, exponential) };
    v_log_f16 | v_s_log_f16: (a: F16) -> F16 { unary(a, logarithm) };
    v_rcp_f16 | v_s_rcp_f16: (a: F16) -> F16 { unary(a, |a| 1.0 / a) };
    v_rsq_f16 | v_s_rsq_f16: (a: F16) -> F16 { unary(a, |a| odd_single(1.0 / f64::from(a).sqrt())) };
    v_sqrt_f16 | v_s_sqrt_f16: (a: F16) -> F16 { unary(a, f32::sqrt) };
    v_sin_f16: (a: F16) -> F16 { unary(a, sine) };
    v_cos_f16: (a: F16) -> F16 { unary(a, cosine) };
}
