//! Arithmetic of floats of 64 bits.

use super::float::{Float, max, max_num, maximum, min, min_num, minimum, result_of};
use super::scale::scaled_double;
use super::table::arithmetic;
use super::trig::segment_of_two_by_pi;
use crate::isa::ValuOp;

#[inline(always)]
fn fma(a: f64, b: f64, c: f64) -> f64 {
    result_of([a, b, c], a.mul_add(b, c))
}

arithmetic! { ValuOp;
    v_add_f64: (a: f64, b: f64) -> f64 { result_of([a, b], a + b) };
    v_mul_f64: (a: f64, b: f64) -> f64 { result_of([a, b], a * b) };
    v_fma_f64: (a: f64, b: f64, c: f64) -> f64 { fma(a, b, c) };
    v_fmac_f64: (a: f64, b: f64; sum: f64) -> f64 { fma(a, b, sum) };

    v_min_f64: (a: f64, b: f64) -> f64 { min(a, b) };
    v_max_f64: (a: f64, b: f64) -> f64 { max(a, b) };
    v_min_num_f64: (a: f64, b: f64) -> f64 { min_num(a, b) };
    v_max_num_f64: (a: f64, b: f64) -> f64 { max_num(a, b) };
    v_minimum_f64: (a: f64, b: f64) -> f64 { minimum(a, b) };
    v_maximum_f64: (a: f64, b: f64) -> f64 { maximum(a, b) };

    v_fract_f64: (a: f64) -> f64 { a.fraction() };
    v_trunc_f64: (a: f64) -> f64 { result_of([a], a.trunc()) };
    v_ceil_f64: (a: f64) -> f64 { result_of([a], a.ceil()) };
    v_floor_f64: (a: f64) -> f64 { result_of([a], a.floor()) };
    v_rndne_f64: (a: f64) -> f64 { result_of([a], a.round_ties_even()) };
    v_frexp_mant_f64: (a: f64) -> f64 { a.significand() };
    v_frexp_exp_i32_f64: (a: f64) -> i32 { a.exponent() };
    v_ldexp_f64: (a: f64, exponent: i32) -> f64 { result_of([a], scaled_double(a, exponent)) };

    // Hardware has about 29 correct bits, which compiled code refines.
    v_rcp_f64: (a: f64) -> f64 { result_of([a], 1.0 / a) };
    v_rsq_f64: (a: f64) -> f64 { result_of([a], 1.0 / a.sqrt()) };
    v_sqrt_f64: (a: f64) -> f64 { result_of([a], a.sqrt()) };
    v_trig_preop_f64: (a: f64, segment: u32) -> f64 { segment_of_two_by_pi(a, segment) };
}
