//! Scalar arithmetic of floats (gfx12), with the results of vector instructions.
//!
//! A result of 16 bits is the lower half of a register, whose upper half becomes 0.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use super::scalar::scalar_arithmetic;
use crate::alu::float::{max_num, maximum, min_num, minimum, result_of};
use crate::alu::value::F16;
use crate::alu::{half, single};
use crate::isa::{Sop1Op, Sop2Op, SopcOp};

scalar_arithmetic! { one, Sop1Op;
    s_ceil_f32: |a: f32| -> f32 { result_of([a], a.ceil()) };
    s_floor_f32: |a: f32| -> f32 { result_of([a], a.floor()) };
    s_trunc_f32: |a: f32| -> f32 { result_of([a], a.trunc()) };
    s_rndne_f32: |a: f32| -> f32 { result_of([a], a.round_ties_even()) };
    s_cvt_f32_i32: |a: i32| -> f32 { a as f32 };
    s_cvt_f32_u32: |a: u32| -> f32 { a as f32 };
    s_cvt_i32_f32: |a: f32| -> u32 { (a as i32).cast_unsigned() };
    s_cvt_u32_f32: |a: f32| -> u32 { a as u32 };
    s_cvt_f16_f32: |a: f32| -> F16 { F16::nearest(a) };
    s_cvt_f32_f16: |a: F16| -> f32 { result_of([a.single()], a.single()) };
    s_cvt_hi_f32_f16: |a: u32| -> f32 {
        let high = F16((a >> 16) as u16).single();
        result_of([high], high)
    };
    s_ceil_f16: |a: F16| -> F16 { half::unary(a, f32::ceil) };
    s_floor_f16: |a: F16| -> F16 { half::unary(a, f32::floor) };
    s_trunc_f16: |a: F16| -> F16 { half::unary(a, f32::trunc) };
    s_rndne_f16: |a: F16| -> F16 { half::unary(a, f32::round_ties_even) };
}

scalar_arithmetic! { two, Sop2Op;
    s_add_f32: |a: f32, b: f32| -> f32 { single::add(a, b) };
    s_sub_f32: |a: f32, b: f32| -> f32 { single::sub(a, b) };
    s_mul_f32: |a: f32, b: f32| -> f32 { single::mul(a, b) };
    s_min_num_f32: |a: f32, b: f32| -> f32 { min_num(a, b) };
    s_max_num_f32: |a: f32, b: f32| -> f32 { max_num(a, b) };
    s_minimum_f32: |a: f32, b: f32| -> f32 { minimum(a, b) };
    s_maximum_f32: |a: f32, b: f32| -> f32 { maximum(a, b) };
    s_fmaak_f32: |a: f32, b: f32, c: f32| -> f32 { single::fma(a, b, c) };
    s_fmamk_f32: |a: f32, b: f32, c: f32| -> f32 { single::fma(a, b, c) };
    s_fmac_f32: |a: f32, b: f32, old: f32| -> f32 { single::fma(a, b, old) };
    s_cvt_pk_rtz_f16_f32: |a: f32, b: f32| -> u32 {
        let [low, high] = [a, b].map(|value| u32::from(F16::toward_zero(value).0));
        high << 16 | low
    };
    s_add_f16: |a: F16, b: F16| -> F16 { half::binary(a, b, |a, b| a + b) };
    s_sub_f16: |a: F16, b: F16| -> F16 { half::binary(a, b, |a, b| a - b) };
    s_mul_f16: |a: F16, b: F16| -> F16 { half::binary(a, b, |a, b| a * b) };
    s_fmac_f16: |a: F16, b: F16, old: F16| -> F16 { half::fma(a, b, old) };
    s_min_num_f16: |a: F16, b: F16| -> F16 { half::select(a, b, min_num) };
    s_max_num_f16: |a: F16, b: F16| -> F16 { half::select(a, b, max_num) };
    s_minimum_f16: |a: F16, b: F16| -> F16 { half::select(a, b, minimum) };
    s_maximum_f16: |a: F16, b: F16| -> F16 { half::select(a, b, maximum) };
}

scalar_arithmetic! { compare, SopcOp;
    s_cmp_lt_f32: |a: f32, b: f32| -> bool { matches!(order(a, b), Some(Less)) };
    s_cmp_eq_f32: |a: f32, b: f32| -> bool { matches!(order(a, b), Some(Equal)) };
    s_cmp_le_f32: |a: f32, b: f32| -> bool { matches!(order(a, b), Some(Less | Equal)) };
    s_cmp_gt_f32: |a: f32, b: f32| -> bool { matches!(order(a, b), Some(Greater)) };
    s_cmp_lg_f32: |a: f32, b: f32| -> bool { matches!(order(a, b), Some(Less | Greater)) };
    s_cmp_ge_f32: |a: f32, b: f32| -> bool { matches!(order(a, b), Some(Greater | Equal)) };
    s_cmp_o_f32: |a: f32, b: f32| -> bool { order(a, b).is_some() };
    s_cmp_u_f32: |a: f32, b: f32| -> bool { order(a, b).is_none() };
    s_cmp_nge_f32: |a: f32, b: f32| -> bool { !matches!(order(a, b), Some(Greater | Equal)) };
    s_cmp_nlg_f32: |a: f32, b: f32| -> bool { !matches!(order(a, b), Some(Less | Greater)) };
    s_cmp_ngt_f32: |a: f32, b: f32| -> bool { !matches!(order(a, b), Some(Greater)) };
    s_cmp_nle_f32: |a: f32, b: f32| -> bool { !matches!(order(a, b), Some(Less | Equal)) };
    s_cmp_neq_f32: |a: f32, b: f32| -> bool { !matches!(order(a, b), Some(Equal)) };
    s_cmp_nlt_f32: |a: f32, b: f32| -> bool { !matches!(order(a, b), Some(Less)) };
    s_cmp_lt_f16: |a: F16, b: F16| -> bool { matches!(order(a.single(), b.single()), Some(Less)) };
    s_cmp_eq_f16: |a: F16, b: F16| -> bool { matches!(order(a.single(), b.single()), Some(Equal)) };
    s_cmp_le_f16: |a: F16, b: F16| -> bool { matches!(order(a.single(), b.single()), Some(Less | Equal)) };
    s_cmp_gt_f16: |a: F16, b: F16| -> bool { matches!(order(a.single(), b.single()), Some(Greater)) };
    s_cmp_lg_f16: |a: F16, b: F16| -> bool { matches!(order(a.single(), b.single()), Some(Less | Greater)) };
    s_cmp_ge_f16: |a: F16, b: F16| -> bool { matches!(order(a.single(), b.single()), Some(Greater | Equal)) };
    s_cmp_o_f16: |a: F16, b: F16| -> bool { order(a.single(), b.single()).is_some() };
    s_cmp_u_f16: |a: F16, b: F16| -> bool { order(a.single(), b.single()).is_none() };
    s_cmp_nge_f16: |a: F16, b: F16| -> bool { !matches!(order(a.single(), b.single()), Some(Greater | Equal)) };
    s_cmp_nlg_f16: |a: F16, b: F16| -> bool { !matches!(order(a.single(), b.single()), Some(Less | Greater)) };
    s_cmp_ngt_f16: |a: F16, b: F16| -> bool { !matches!(order(a.single(), b.single()), Some(Greater)) };
    s_cmp_nle_f16: |a: F16, b: F16| -> bool { !matches!(order(a.single(), b.single()), Some(Less | Equal)) };
    s_cmp_neq_f16: |a: F16, b: F16| -> bool { !matches!(order(a.single(), b.single()), Some(Equal)) };
    s_cmp_nlt_f16: |a: F16, b: F16| -> bool { !matches!(order(a.single(), b.single()), Some(Less)) };
}

/// The order of two numbers; none if one is no number.
fn order(a: f32, b: f32) -> Option<Ordering> {
    a.partial_cmp(&b)
}
