//! Comparisons.

#![expect(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::double_comparisons,
    reason = "comparisons with a NaN are as the manuals define them"
)]

use super::table::arithmetic;
use super::value::F16;
use crate::isa::ValuOp;

/// Whether one of them is a NaN.
#[inline(always)]
fn is_unordered<T: PartialOrd>(a: T, b: T) -> bool {
    a.partial_cmp(&b).is_none()
}

/// The number of a float's class: 0 and 1 signalling and quiet NaNs, 2 to 5 negative infinite, normal,
/// subnormal and zero, 6 to 9 the same of positive ones in reverse.
#[inline(always)]
fn class_of(negative: bool, exponent: u32, largest: u32, significand: u64, quiet: u64) -> u32 {
    let magnitude = if exponent == largest {
        0
    } else if exponent != 0 {
        1
    } else if significand != 0 {
        2
    } else {
        3
    };
    if exponent == largest && significand != 0 {
        return u32::from(significand & quiet != 0);
    }
    if negative {
        2 + magnitude
    } else {
        9 - magnitude
    }
}

arithmetic! { ValuOp;
    v_cmp_f_f16 | v_cmpx_f_f16: (_a: F16, _b: F16) -> bool { false };
    v_cmp_lt_f16 | v_cmpx_lt_f16: (a: F16, b: F16) -> bool { a.single() < b.single() };
    v_cmp_eq_f16 | v_cmpx_eq_f16: (a: F16, b: F16) -> bool { a.single() == b.single() };
    v_cmp_le_f16 | v_cmpx_le_f16: (a: F16, b: F16) -> bool { a.single() <= b.single() };
    v_cmp_gt_f16 | v_cmpx_gt_f16: (a: F16, b: F16) -> bool { a.single() > b.single() };
    v_cmp_lg_f16 | v_cmpx_lg_f16: (a: F16, b: F16) -> bool { a.single() < b.single() || a.single() > b.single() };
    v_cmp_ge_f16 | v_cmpx_ge_f16: (a: F16, b: F16) -> bool { a.single() >= b.single() };
    v_cmp_o_f16 | v_cmpx_o_f16: (a: F16, b: F16) -> bool { !is_unordered(a.single(), b.single()) };
    v_cmp_u_f16 | v_cmpx_u_f16: (a: F16, b: F16) -> bool { is_unordered(a.single(), b.single()) };
    v_cmp_nge_f16 | v_cmpx_nge_f16: (a: F16, b: F16) -> bool { !(a.single() >= b.single()) };
    v_cmp_nlg_f16 | v_cmpx_nlg_f16: (a: F16, b: F16) -> bool { !(a.single() < b.single() || a.single() > b.single()) };
    v_cmp_ngt_f16 | v_cmpx_ngt_f16: (a: F16, b: F16) -> bool { !(a.single() > b.single()) };
    v_cmp_nle_f16 | v_cmpx_nle_f16: (a: F16, b: F16) -> bool { !(a.single() <= b.single()) };
    v_cmp_neq_f16 | v_cmpx_neq_f16: (a: F16, b: F16) -> bool { a.single() != b.single() };
    v_cmp_nlt_f16 | v_cmpx_nlt_f16: (a: F16, b: F16) -> bool { !(a.single() < b.single()) };
    v_cmp_t_f16 | v_cmpx_t_f16 | v_cmp_tru_f16 | v_cmpx_tru_f16: (_a: F16, _b: F16) -> bool { true };
    v_cmp_f_f32 | v_cmpx_f_f32: (_a: f32, _b: f32) -> bool { false };
    v_cmp_lt_f32 | v_cmpx_lt_f32: (a: f32, b: f32) -> bool { a < b };
    v_cmp_eq_f32 | v_cmpx_eq_f32: (a: f32, b: f32) -> bool { a == b };
    v_cmp_le_f32 | v_cmpx_le_f32: (a: f32, b: f32) -> bool { a <= b };
    v_cmp_gt_f32 | v_cmpx_gt_f32: (a: f32, b: f32) -> bool { a > b };
    v_cmp_lg_f32 | v_cmpx_lg_f32: (a: f32, b: f32) -> bool { a < b || a > b };
    v_cmp_ge_f32 | v_cmpx_ge_f32: (a: f32, b: f32) -> bool { a >= b };
    v_cmp_o_f32 | v_cmpx_o_f32: (a: f32, b: f32) -> bool { !is_unordered(a, b) };
    v_cmp_u_f32 | v_cmpx_u_f32: (a: f32, b: f32) -> bool { is_unordered(a, b) };
    v_cmp_nge_f32 | v_cmpx_nge_f32: (a: f32, b: f32) -> bool { !(a >= b) };
    v_cmp_nlg_f32 | v_cmpx_nlg_f32: (a: f32, b: f32) -> bool { !(a < b || a > b) };
    v_cmp_ngt_f32 | v_cmpx_ngt_f32: (a: f32, b: f32) -> bool { !(a > b) };
    v_cmp_nle_f32 | v_cmpx_nle_f32: (a: f32, b: f32) -> bool { !(a <= b) };
    v_cmp_neq_f32 | v_cmpx_neq_f32: (a: f32, b: f32) -> bool { a != b };
    v_cmp_nlt_f32 | v_cmpx_nlt_f32: (a: f32, b: f32) -> bool { !(a < b) };
    v_cmp_t_f32 | v_cmpx_t_f32 | v_cmp_tru_f32 | v_cmpx_tru_f32: (_a: f32, _b: f32) -> bool { true };
    v_cmp_f_f64 | v_cmpx_f_f64: (_a: f64, _b: f64) -> bool { false };
    v_cmp_lt_f64 | v_cmpx_lt_f64: (a: f64, b: f64) -> bool { a < b };
    v_cmp_eq_f64 | v_cmpx_eq_f64: (a: f64, b: f64) -> bool { a == b };
    v_cmp_le_f64 | v_cmpx_le_f64: (a: f64, b: f64) -> bool { a <= b };
    v_cmp_gt_f64 | v_cmpx_gt_f64: (a: f64, b: f64) -> bool { a > b };
    v_cmp_lg_f64 | v_cmpx_lg_f64: (a: f64, b: f64) -> bool { a < b || a > b };
    v_cmp_ge_f64 | v_cmpx_ge_f64: (a: f64, b: f64) -> bool { a >= b };
    v_cmp_o_f64 | v_cmpx_o_f64: (a: f64, b: f64) -> bool { !is_unordered(a, b) };
    v_cmp_u_f64 | v_cmpx_u_f64: (a: f64, b: f64) -> bool { is_unordered(a, b) };
    v_cmp_nge_f64 | v_cmpx_nge_f64: (a: f64, b: f64) -> bool { !(a >= b) };
    v_cmp_nlg_f64 | v_cmpx_nlg_f64: (a: f64, b: f64) -> bool { !(a < b || a > b) };
    v_cmp_ngt_f64 | v_cmpx_ngt_f64: (a: f64, b: f64) -> bool { !(a > b) };
    v_cmp_nle_f64 | v_cmpx_nle_f64: (a: f64, b: f64) -> bool { !(a <= b) };
    v_cmp_neq_f64 | v_cmpx_neq_f64: (a: f64, b: f64) -> bool { a != b };
    v_cmp_nlt_f64 | v_cmpx_nlt_f64: (a: f64, b: f64) -> bool { !(a < b) };
    v_cmp_t_f64 | v_cmpx_t_f64 | v_cmp_tru_f64 | v_cmpx_tru_f64: (_a: f64, _b: f64) -> bool { true };
    v_cmp_f_i16 | v_cmpx_f_i16: (_a: i16, _b: i16) -> bool { false };
    v_cmp_lt_i16 | v_cmpx_lt_i16: (a: i16, b: i16) -> bool { a < b };
    v_cmp_eq_i16 | v_cmpx_eq_i16: (a: i16, b: i16) -> bool { a == b };
    v_cmp_le_i16 | v_cmpx_le_i16: (a: i16, b: i16) -> bool { a <= b };
    v_cmp_gt_i16 | v_cmpx_gt_i16: (a: i16, b: i16) -> bool { a > b };
    v_cmp_ne_i16 | v_cmpx_ne_i16: (a: i16, b: i16) -> bool { a != b };
    v_cmp_ge_i16 | v_cmpx_ge_i16: (a: i16, b: i16) -> bool { a >= b };
    v_cmp_t_i16 | v_cmpx_t_i16: (_a: i16, _b: i16) -> bool { true };
    v_cmp_f_u16 | v_cmpx_f_u16: (_a: u16, _b: u16) -> bool { false };
    v_cmp_lt_u16 | v_cmpx_lt_u16: (a: u16, b: u16) -> bool { a < b };
    v_cmp_eq_u16 | v_cmpx_eq_u16: (a: u16, b: u16) -> bool { a == b };
    v_cmp_le_u16 | v_cmpx_le_u16: (a: u16, b: u16) -> bool { a <= b };
    v_cmp_gt_u16 | v_cmpx_gt_u16: (a: u16, b: u16) -> bool { a > b };
    v_cmp_ne_u16 | v_cmpx_ne_u16: (a: u16, b: u16) -> bool { a != b };
    v_cmp_ge_u16 | v_cmpx_ge_u16: (a: u16, b: u16) -> bool { a >= b };
    v_cmp_t_u16 | v_cmpx_t_u16: (_a: u16, _b: u16) -> bool { true };
    v_cmp_f_i32 | v_cmpx_f_i32: (_a: i32, _b: i32) -> bool { false };
    v_cmp_lt_i32 | v_cmpx_lt_i32: (a: i32, b: i32) -> bool { a < b };
    v_cmp_eq_i32 | v_cmpx_eq_i32: (a: i32, b: i32) -> bool { a == b };
    v_cmp_le_i32 | v_cmpx_le_i32: (a: i32, b: i32) -> bool { a <= b };
    v_cmp_gt_i32 | v_cmpx_gt_i32: (a: i32, b: i32) -> bool { a > b };
    v_cmp_ne_i32 | v_cmpx_ne_i32: (a: i32, b: i32) -> bool { a != b };
    v_cmp_ge_i32 | v_cmpx_ge_i32: (a: i32, b: i32) -> bool { a >= b };
    v_cmp_t_i32 | v_cmpx_t_i32: (_a: i32, _b: i32) -> bool { true };
    v_cmp_f_u32 | v_cmpx_f_u32: (_a: u32, _b: u32) -> bool { false };
    v_cmp_lt_u32 | v_cmpx_lt_u32: (a: u32, b: u32) -> bool { a < b };
    v_cmp_eq_u32 | v_cmpx_eq_u32: (a: u32, b: u32) -> bool { a == b };
    v_cmp_le_u32 | v_cmpx_le_u32: (a: u32, b: u32) -> bool { a <= b };
    v_cmp_gt_u32 | v_cmpx_gt_u32: (a: u32, b: u32) -> bool { a > b };
    v_cmp_ne_u32 | v_cmpx_ne_u32: (a: u32, b: u32) -> bool { a != b };
    v_cmp_ge_u32 | v_cmpx_ge_u32: (a: u32, b: u32) -> bool { a >= b };
    v_cmp_t_u32 | v_cmpx_t_u32: (_a: u32, _b: u32) -> bool { true };
    v_cmp_f_i64 | v_cmpx_f_i64: (_a: i64, _b: i64) -> bool { false };
    v_cmp_lt_i64 | v_cmpx_lt_i64: (a: i64, b: i64) -> bool { a < b };
    v_cmp_eq_i64 | v_cmpx_eq_i64: (a: i64, b: i64) -> bool { a == b };
    v_cmp_le_i64 | v_cmpx_le_i64: (a: i64, b: i64) -> bool { a <= b };
    v_cmp_gt_i64 | v_cmpx_gt_i64: (a: i64, b: i64) -> bool { a > b };
    v_cmp_ne_i64 | v_cmpx_ne_i64: (a: i64, b: i64) -> bool { a != b };
    v_cmp_ge_i64 | v_cmpx_ge_i64: (a: i64, b: i64) -> bool { a >= b };
    v_cmp_t_i64 | v_cmpx_t_i64: (_a: i64, _b: i64) -> bool { true };
    v_cmp_f_u64 | v_cmpx_f_u64: (_a: u64, _b: u64) -> bool { false };
    v_cmp_lt_u64 | v_cmpx_lt_u64: (a: u64, b: u64) -> bool { a < b };
    v_cmp_eq_u64 | v_cmpx_eq_u64: (a: u64, b: u64) -> bool { a == b };
    v_cmp_le_u64 | v_cmpx_le_u64: (a: u64, b: u64) -> bool { a <= b };
    v_cmp_gt_u64 | v_cmpx_gt_u64: (a: u64, b: u64) -> bool { a > b };
    v_cmp_ne_u64 | v_cmpx_ne_u64: (a: u64, b: u64) -> bool { a != b };
    v_cmp_ge_u64 | v_cmpx_ge_u64: (a: u64, b: u64) -> bool { a >= b };
    v_cmp_t_u64 | v_cmpx_t_u64: (_a: u64, _b: u64) -> bool { true };
    // The first operand's type is not that of a float, since its class is that before subnormal
    // numbers become zeros.
    v_cmp_class_f16 | v_cmpx_class_f16: (a: u16, classes: u16) -> bool {
        let (exponent, significand) = (u32::from(a >> 10 & 0x1f), u64::from(a & 0x3ff));
        classes >> class_of(a >> 15 != 0, exponent, 0x1f, significand, 1 << 9) & 1 != 0
    };
    v_cmp_class_f32 | v_cmpx_class_f32: (a: u32, classes: u32) -> bool {
        let (exponent, significand) = (a >> 23 & 0xff, u64::from(a & 0x7f_ffff));
        classes >> class_of(a >> 31 != 0, exponent, 0xff, significand, 1 << 22) & 1 != 0
    };
    v_cmp_class_f64 | v_cmpx_class_f64: (a: f64, classes: u32) -> bool {
        let bits = a.to_bits();
        let (exponent, significand) = ((bits >> 52) as u32 & 0x7ff, bits & ((1 << 52) - 1));
        classes >> class_of(bits >> 63 != 0, exponent, 0x7ff, significand, 1 << 51) & 1 != 0
    };
}
