//! Arithmetic of floats of 32 bits.

use super::approximate::{cosine, exponential, logarithm, reciprocal, reciprocal_root, root, sine};
use super::dot;
use super::float::{Float, max, max_num, maximum, median, min, min_num, minimum, result_of};
use super::scale::scaled_single;
use super::table::arithmetic;
use crate::isa::ValuOp;

#[inline(always)]
pub(crate) fn add(a: f32, b: f32) -> f32 {
    result_of([a, b], a + b)
}

#[inline(always)]
pub(crate) fn sub(a: f32, b: f32) -> f32 {
    result_of([a, b], a - b)
}

#[inline(always)]
pub(crate) fn mul(a: f32, b: f32) -> f32 {
    result_of([a, b], a * b)
}

#[inline(always)]
pub(crate) fn fma(a: f32, b: f32, c: f32) -> f32 {
    result_of([a, b, c], a.mul_add(b, c))
}

/// A product and a sum, each rounded, and without subnormal numbers.
#[inline(always)]
fn mad(a: f32, b: f32, c: f32) -> f32 {
    let product = (a.flushed() * b.flushed()).flushed();
    result_of([a, b, c], (product + c.flushed()).flushed())
}

/// Whether a product is zero whatever the other operand is.
#[inline(always)]
fn has_zero(a: f32, b: f32) -> bool {
    a == 0.0 || b == 0.0
}

/// A product, zero if one operand is.
#[inline(always)]
pub(super) fn mul_zero(a: f32, b: f32) -> f32 {
    if has_zero(a, b) { 0.0 } else { mul(a, b) }
}

/// A fused product and sum, the latter alone if an operand of the product is zero.
#[inline(always)]
fn fma_zero(a: f32, b: f32, c: f32) -> f32 {
    if has_zero(a, b) { c } else { fma(a, b, c) }
}

/// Index of the coordinate with the largest magnitude: 0 to 2.
#[inline(always)]
fn major_axis(x: f32, y: f32, z: f32) -> usize {
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        2
    } else {
        usize::from(y.abs() >= x.abs())
    }
}

arithmetic! { ValuOp;
    v_add_f32: (a: f32, b: f32) -> f32 { add(a, b) };
    v_sub_f32: (a: f32, b: f32) -> f32 { sub(a, b) };
    v_subrev_f32: (a: f32, b: f32) -> f32 { result_of([a, b], b - a) };
    v_mul_f32: (a: f32, b: f32) -> f32 { mul(a, b) };
    v_mul_dx9_zero_f32 | v_mul_legacy_f32_vop3: (a: f32, b: f32) -> f32 { mul_zero(a, b) };
    v_fma_f32: (a: f32, b: f32, c: f32) -> f32 { fma(a, b, c) };
    v_fma_dx9_zero_f32: (a: f32, b: f32, c: f32) -> f32 { fma_zero(a, b, c) };
    v_fmac_f32: (a: f32, b: f32; sum: f32) -> f32 { fma(a, b, sum) };
    v_fmac_dx9_zero_f32: (a: f32, b: f32; sum: f32) -> f32 { fma_zero(a, b, sum) };
    v_fmamk_f32: (a: f32, k: f32, b: f32) -> f32 { fma(a, k, b) };
    v_fmaak_f32: (a: f32, b: f32, k: f32) -> f32 { fma(a, b, k) };
    v_mad_f32: (a: f32, b: f32, c: f32) -> f32 { mad(a, b, c) };
    v_mad_legacy_f32: (a: f32, b: f32, c: f32) -> f32 {
        if has_zero(a.flushed(), b.flushed()) {
            result_of([c], c.flushed() + 0.0)
        } else {
            mad(a, b, c)
        }
    };
    v_mac_f32: (a: f32, b: f32; sum: f32) -> f32 { mad(a, b, sum) };
    v_madmk_f32: (a: f32, k: f32, b: f32) -> f32 { mad(a, k, b) };
    v_madak_f32: (a: f32, b: f32, k: f32) -> f32 { mad(a, b, k) };

    v_min_f32: (a: f32, b: f32) -> f32 { min(a, b) };
    v_max_f32: (a: f32, b: f32) -> f32 { max(a, b) };
    v_min3_f32: (a: f32, b: f32, c: f32) -> f32 { min(min(a, b), c) };
    v_max3_f32: (a: f32, b: f32, c: f32) -> f32 { max(max(a, b), c) };
    v_med3_f32: (a: f32, b: f32, c: f32) -> f32 { median([a, b, c], min, max) };
    v_minmax_f32: (a: f32, b: f32, c: f32) -> f32 { max(min(a, b), c) };
    v_maxmin_f32: (a: f32, b: f32, c: f32) -> f32 { min(max(a, b), c) };
    v_min_num_f32: (a: f32, b: f32) -> f32 { min_num(a, b) };
    v_max_num_f32: (a: f32, b: f32) -> f32 { max_num(a, b) };
    v_min3_num_f32: (a: f32, b: f32, c: f32) -> f32 { min_num(min_num(a, b), c) };
    v_max3_num_f32: (a: f32, b: f32, c: f32) -> f32 { max_num(max_num(a, b), c) };
    v_med3_num_f32: (a: f32, b: f32, c: f32) -> f32 { median([a, b, c], min_num, max_num) };
    v_minmax_num_f32: (a: f32, b: f32, c: f32) -> f32 { max_num(min_num(a, b), c) };
    v_maxmin_num_f32: (a: f32, b: f32, c: f32) -> f32 { min_num(max_num(a, b), c) };
    v_minimum_f32: (a: f32, b: f32) -> f32 { minimum(a, b) };
    v_maximum_f32: (a: f32, b: f32) -> f32 { maximum(a, b) };
    v_minimum3_f32: (a: f32, b: f32, c: f32) -> f32 { minimum(minimum(a, b), c) };
    v_maximum3_f32: (a: f32, b: f32, c: f32) -> f32 { maximum(maximum(a, b), c) };
    v_minimummaximum_f32: (a: f32, b: f32, c: f32) -> f32 { maximum(minimum(a, b), c) };
    v_maximumminimum_f32: (a: f32, b: f32, c: f32) -> f32 { minimum(maximum(a, b), c) };

    v_fract_f32: (a: f32) -> f32 { a.fraction() };
    v_trunc_f32: (a: f32) -> f32 { result_of([a], a.trunc()) };
    v_ceil_f32: (a: f32) -> f32 { result_of([a], a.ceil()) };
    v_floor_f32: (a: f32) -> f32 { result_of([a], a.floor()) };
    v_rndne_f32: (a: f32) -> f32 { result_of([a], a.round_ties_even()) };
    v_frexp_mant_f32: (a: f32) -> f32 { a.significand() };
    v_frexp_exp_i32_f32: (a: f32) -> i32 { a.exponent() };
    v_ldexp_f32: (a: f32, exponent: i32) -> f32 { result_of([a], scaled_single(a, exponent)) };

    v_exp_f32 | v_s_exp_f32: (a: f32) -> f32 { exponential(a) };
    v_log_f32 | v_s_log_f32: (a: f32) -> f32 { logarithm(a) };
    v_rcp_f32 | v_rcp_iflag_f32 | v_s_rcp_f32: (a: f32) -> f32 { reciprocal(a) };
    v_rsq_f32 | v_s_rsq_f32: (a: f32) -> f32 { reciprocal_root(a) };
    v_sqrt_f32 | v_s_sqrt_f32: (a: f32) -> f32 { root(a) };
    v_sin_f32: (a: f32) -> f32 { sine(a) };
    v_cos_f32: (a: f32) -> f32 { cosine(a) };

    v_cubeid_f32: (x: f32, y: f32, z: f32) -> f32 {
        let axis = major_axis(x, y, z);
        let negative = [x, y, z][axis] < 0.0;
        (2 * axis + usize::from(negative)) as f32
    };
    v_cubesc_f32: (x: f32, y: f32, z: f32) -> f32 {
        match major_axis(x, y, z) {
            2 => if z < 0.0 { -x } else { x },
            1 => x,
            _ => if x < 0.0 { z } else { -z },
        }
    };
    v_cubetc_f32: (x: f32, y: f32, z: f32) -> f32 {
        match major_axis(x, y, z) {
            1 => if y < 0.0 { -z } else { z },
            _ => -y,
        }
    };
    v_cubema_f32: (x: f32, y: f32, z: f32) -> f32 { mul([x, y, z][major_axis(x, y, z)], 2.0) };
    v_mullit_f32: (a: f32, b: f32, c: f32) -> f32 {
        if b > f32::MIN && c > 0.0 { mul(a, b) } else { f32::MIN }
    };

    v_dot2c_f32_f16 | v_dot2acc_f32_f16: (a: u32, b: u32; sum: f32) -> f32 {
        dot::floats(dot::halves(a), dot::halves(b), sum)
    };
}
