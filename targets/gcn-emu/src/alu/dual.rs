//! Halves of VOPD instructions. Minimum and maximum are those of gfx12, which return the number also
//! if the other operand is a signalling NaN.

use super::dot;
use super::float::{max_num, min_num, result_of};
use super::single::{add, fma, mul, mul_zero, sub};
use super::table::arithmetic;
use crate::isa::DualOp;

arithmetic! { DualOp;
    v_dual_fmac_f32: (a: f32, b: f32; sum: f32) -> f32 { fma(a, b, sum) };
    v_dual_fmaak_f32: (a: f32, b: f32, k: f32) -> f32 { fma(a, b, k) };
    v_dual_fmamk_f32: (a: f32, k: f32, b: f32) -> f32 { fma(a, k, b) };
    v_dual_mul_f32: (a: f32, b: f32) -> f32 { mul(a, b) };
    v_dual_add_f32: (a: f32, b: f32) -> f32 { add(a, b) };
    v_dual_sub_f32: (a: f32, b: f32) -> f32 { sub(a, b) };
    v_dual_subrev_f32: (a: f32, b: f32) -> f32 { result_of([a, b], b - a) };
    v_dual_mul_dx9_zero_f32: (a: f32, b: f32) -> f32 { mul_zero(a, b) };
    v_dual_mov_b32: (a: u32) -> u32 { a };
    v_dual_cndmask_b32: (a: u32, b: u32, second: bool) -> u32 { if second { b } else { a } };
    v_dual_max_num_f32: (a: f32, b: f32) -> f32 { max_num(a, b) };
    v_dual_min_num_f32: (a: f32, b: f32) -> f32 { min_num(a, b) };
    v_dual_dot2acc_f32_f16: (a: u32, b: u32; sum: f32) -> f32 {
        dot::floats(dot::halves(a), dot::halves(b), sum)
    };
    v_dual_dot2acc_f32_bf16: (a: u32, b: u32; sum: f32) -> f32 {
        dot::floats(dot::bfloats(a), dot::bfloats(b), sum)
    };
    v_dual_add_nc_u32: (a: u32, b: u32) -> u32 { a.wrapping_add(b) };
    v_dual_lshlrev_b32: (distance: u32, a: u32) -> u32 { a << (distance & 31) };
    v_dual_and_b32: (a: u32, b: u32) -> u32 { a & b };
}
