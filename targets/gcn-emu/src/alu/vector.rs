//! Vector arithmetic: VOP1, VOP2, VOPC and VOP3.

use super::table::arithmetic;
use crate::isa::ValuOp;

arithmetic! { ValuOp;
    v_add_f32: (a: f32, b: f32) -> f32 { a + b };
    v_add_nc_u32: (a: u32, b: u32) -> u32 { a.wrapping_add(b) } clamp { a.saturating_add(b) };
    v_add_co_ci_u32: (a: u32, b: u32, carry: bool) -> (u32, bool) {
        let (sum, first) = a.overflowing_add(b);
        let (sum, second) = sum.overflowing_add(u32::from(carry));
        (sum, first | second)
    };
    v_fmac_f32: (a: f32, b: f32; sum: f32) -> f32 { a.mul_add(b, sum) };
    v_cmp_lt_f32: (a: f32, b: f32) -> bool { a < b };
    v_mov_b32: (a: u32) -> u32 { a };
}
