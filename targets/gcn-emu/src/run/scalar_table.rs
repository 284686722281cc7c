//! Scalar arithmetic.
//!
//! Each function takes its sources and SCC. It returns its result, and SCC if it sets SCC.

use super::scalar::scalar_arithmetic;
use crate::isa::{Sop1Op, Sop2Op, SopcOp};

scalar_arithmetic! { one, Sop1Op;
    s_mov_b32: |a: u32| -> u32 { a };
    s_mov_b64: |a: u64| -> u64 { a };
    s_brev_b32: |a: u32| -> u32 { a.reverse_bits() };
    s_brev_b64: |a: u64| -> u64 { a.reverse_bits() };
    s_ctz_i32_b32: |a: u32| -> u32 { if a == 0 { u32::MAX } else { a.trailing_zeros() } };
    s_ctz_i32_b64: |a: u64| -> u32 { if a == 0 { u32::MAX } else { a.trailing_zeros() } };
    s_ff0_i32_b32: |a: u32| -> u32 { if a == u32::MAX { u32::MAX } else { a.trailing_ones() } };
    s_ff0_i32_b64: |a: u64| -> u32 { if a == u64::MAX { u32::MAX } else { a.trailing_ones() } };
    s_clz_i32_u32: |a: u32| -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } };
    s_clz_i32_u64: |a: u64| -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } };
    s_cls_i32: |a: u32| -> u32 { signs(u64::from(a) << 32 | u64::from(a), 32) };
    s_cls_i32_i64: |a: u64| -> u32 { signs(a, 64) };
    s_sext_i32_i8: |a: u32| -> u32 { i32::from(a as i8).cast_unsigned() };
    s_sext_i32_i16: |a: u32| -> u32 { i32::from(a as i16).cast_unsigned() };
    s_bitreplicate_b64_b32: |a: u32| -> u64 {
        (0..32).fold(0, |bits, at| bits | ((u64::from(a >> at & 1) * 3) << (2 * at)))
    };
    s_abs_i32: |a: i32| -> (u32, bool) { nonzero32(a.wrapping_abs().cast_unsigned()) };
    s_bcnt0_i32_b32: |a: u32| -> (u32, bool) { nonzero32(a.count_zeros()) };
    s_bcnt0_i32_b64: |a: u64| -> (u32, bool) { nonzero32(a.count_zeros()) };
    s_bcnt1_i32_b32: |a: u32| -> (u32, bool) { nonzero32(a.count_ones()) };
    s_bcnt1_i32_b64: |a: u64| -> (u32, bool) { nonzero32(a.count_ones()) };
    s_quadmask_b32: |a: u32| -> (u32, bool) { nonzero32(quads(a.into()) as u32) };
    s_quadmask_b64: |a: u64| -> (u64, bool) { nonzero(quads(a)) };
    s_wqm_b32: |a: u32| -> (u32, bool) { nonzero32(whole_quads(a.into()) as u32) };
    s_wqm_b64: |a: u64| -> (u64, bool) { nonzero(whole_quads(a)) };
    s_not_b32: |a: u32| -> (u32, bool) { nonzero32(!a) };
    s_not_b64: |a: u64| -> (u64, bool) { nonzero(!a) };
}

scalar_arithmetic! { two, Sop2Op;
    s_add_co_u32: |a: u32, b: u32| -> (u32, bool) { a.overflowing_add(b) };
    s_sub_co_u32: |a: u32, b: u32| -> (u32, bool) { a.overflowing_sub(b) };
    s_add_co_i32: |a: i32, b: i32| -> (u32, bool) { signed(a.overflowing_add(b)) };
    s_sub_co_i32: |a: i32, b: i32| -> (u32, bool) { signed(a.overflowing_sub(b)) };
    s_add_co_ci_u32: |a: u32, b: u32; carry| -> (u32, bool) {
        let (sum, first) = a.overflowing_add(b);
        let (sum, second) = sum.overflowing_add(carry.into());
        (sum, first | second)
    };
    s_sub_co_ci_u32: |a: u32, b: u32; borrow| -> (u32, bool) {
        let (rest, first) = a.overflowing_sub(b);
        let (rest, second) = rest.overflowing_sub(borrow.into());
        (rest, first | second)
    };
    s_absdiff_i32: |a: i32, b: i32| -> (u32, bool) {
        nonzero32(a.wrapping_sub(b).wrapping_abs().cast_unsigned())
    };
    s_lshl_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(a << (b & 31)) };
    s_lshl_b64: |a: u64, b: u32| -> (u64, bool) { nonzero(a << (b & 63)) };
    s_lshr_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(a >> (b & 31)) };
    s_lshr_b64: |a: u64, b: u32| -> (u64, bool) { nonzero(a >> (b & 63)) };
    s_ashr_i32: |a: i32, b: u32| -> (u32, bool) { nonzero32((a >> (b & 31)).cast_unsigned()) };
    s_ashr_i64: |a: i64, b: u32| -> (u64, bool) { nonzero((a >> (b & 63)).cast_unsigned()) };
    s_lshl1_add_u32: |a: u32, b: u32| -> (u32, bool) { shifted_sum(a, 1, b) };
    s_lshl2_add_u32: |a: u32, b: u32| -> (u32, bool) { shifted_sum(a, 2, b) };
    s_lshl3_add_u32: |a: u32, b: u32| -> (u32, bool) { shifted_sum(a, 3, b) };
    s_lshl4_add_u32: |a: u32, b: u32| -> (u32, bool) { shifted_sum(a, 4, b) };
    s_min_i32: |a: i32, b: i32| -> (u32, bool) { (a.min(b).cast_unsigned(), a < b) };
    s_min_u32: |a: u32, b: u32| -> (u32, bool) { (a.min(b), a < b) };
    s_max_i32: |a: i32, b: i32| -> (u32, bool) { (a.max(b).cast_unsigned(), a >= b) };
    s_max_u32: |a: u32, b: u32| -> (u32, bool) { (a.max(b), a >= b) };
    s_and_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(a & b) };
    s_and_b64: |a: u64, b: u64| -> (u64, bool) { nonzero(a & b) };
    s_or_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(a | b) };
    s_or_b64: |a: u64, b: u64| -> (u64, bool) { nonzero(a | b) };
    s_xor_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(a ^ b) };
    s_xor_b64: |a: u64, b: u64| -> (u64, bool) { nonzero(a ^ b) };
    s_nand_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(!(a & b)) };
    s_nand_b64: |a: u64, b: u64| -> (u64, bool) { nonzero(!(a & b)) };
    s_nor_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(!(a | b)) };
    s_nor_b64: |a: u64, b: u64| -> (u64, bool) { nonzero(!(a | b)) };
    s_xnor_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(!(a ^ b)) };
    s_xnor_b64: |a: u64, b: u64| -> (u64, bool) { nonzero(!(a ^ b)) };
    s_and_not1_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(a & !b) };
    s_and_not1_b64: |a: u64, b: u64| -> (u64, bool) { nonzero(a & !b) };
    s_or_not1_b32: |a: u32, b: u32| -> (u32, bool) { nonzero32(a | !b) };
    s_or_not1_b64: |a: u64, b: u64| -> (u64, bool) { nonzero(a | !b) };
    s_bfe_u32: |a: u32, b: u32| -> (u32, bool) {
        nonzero32(field(a.into(), b & 31, b >> 16 & 127) as u32)
    };
    s_bfe_i32: |a: i32, b: u32| -> (u32, bool) {
        nonzero32(signed_field(a.into(), b & 31, (b >> 16 & 127).min(32)) as u32)
    };
    s_bfe_u64: |a: u64, b: u32| -> (u64, bool) { nonzero(field(a, b & 63, b >> 16 & 127)) };
    s_bfe_i64: |a: i64, b: u32| -> (u64, bool) {
        nonzero(signed_field(a, b & 63, b >> 16 & 127).cast_unsigned())
    };
    s_bfm_b32: |a: u32, b: u32| -> u32 { ((1 << (a & 31)) - 1) << (b & 31) };
    s_bfm_b64: |a: u32, b: u32| -> u64 { ((1 << (a & 63)) - 1) << (b & 63) };
    s_mul_i32: |a: u32, b: u32| -> u32 { a.wrapping_mul(b) };
    s_mul_hi_u32: |a: u32, b: u32| -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 };
    s_mul_hi_i32: |a: i32, b: i32| -> u32 { ((i64::from(a) * i64::from(b)) >> 32) as u32 };
    s_cselect_b32: |a: u32, b: u32; scc| -> u32 { if scc { a } else { b } };
    s_cselect_b64: |a: u64, b: u64; scc| -> u64 { if scc { a } else { b } };
    s_pack_ll_b32_b16: |a: u32, b: u32| -> u32 { b << 16 | a & 0xffff };
    s_pack_lh_b32_b16: |a: u32, b: u32| -> u32 { b & 0xffff_0000 | a & 0xffff };
    s_pack_hh_b32_b16: |a: u32, b: u32| -> u32 { b & 0xffff_0000 | a >> 16 };
    s_pack_hl_b32_b16: |a: u32, b: u32| -> u32 { b << 16 | a >> 16 };
    s_add_nc_u64: |a: u64, b: u64| -> u64 { a.wrapping_add(b) };
    s_sub_nc_u64: |a: u64, b: u64| -> u64 { a.wrapping_sub(b) };
    s_mul_u64: |a: u64, b: u64| -> u64 { a.wrapping_mul(b) };
}

scalar_arithmetic! { compare, SopcOp;
    s_cmp_eq_i32: |a: i32, b: i32| -> bool { a == b };
    s_cmp_eq_u32: |a: u32, b: u32| -> bool { a == b };
    s_cmp_lg_i32: |a: i32, b: i32| -> bool { a != b };
    s_cmp_lg_u32: |a: u32, b: u32| -> bool { a != b };
    s_cmp_gt_i32: |a: i32, b: i32| -> bool { a > b };
    s_cmp_gt_u32: |a: u32, b: u32| -> bool { a > b };
    s_cmp_ge_i32: |a: i32, b: i32| -> bool { a >= b };
    s_cmp_ge_u32: |a: u32, b: u32| -> bool { a >= b };
    s_cmp_lt_i32: |a: i32, b: i32| -> bool { a < b };
    s_cmp_lt_u32: |a: u32, b: u32| -> bool { a < b };
    s_cmp_le_i32: |a: i32, b: i32| -> bool { a <= b };
    s_cmp_le_u32: |a: u32, b: u32| -> bool { a <= b };
    s_cmp_eq_u64: |a: u64, b: u64| -> bool { a == b };
    s_cmp_lg_u64: |a: u64, b: u64| -> bool { a != b };
    s_bitcmp0_b32: |a: u32, b: u32| -> bool { a >> (b & 31) & 1 == 0 };
    s_bitcmp1_b32: |a: u32, b: u32| -> bool { a >> (b & 31) & 1 != 0 };
    s_bitcmp0_b64: |a: u64, b: u32| -> bool { a >> (b & 63) & 1 == 0 };
    s_bitcmp1_b64: |a: u64, b: u32| -> bool { a >> (b & 63) & 1 != 0 };
}

fn nonzero32(value: u32) -> (u32, bool) {
    (value, value != 0)
}

fn nonzero(value: u64) -> (u64, bool) {
    (value, value != 0)
}

fn signed((value, overflows): (i32, bool)) -> (u32, bool) {
    (value.cast_unsigned(), overflows)
}

fn shifted_sum(a: u32, by: u32, b: u32) -> (u32, bool) {
    let sum = (u64::from(a) << by) + u64::from(b);
    (sum as u32, sum >> 32 != 0)
}

/// Number of leading bits equal to the sign bit; all ones if no bit differs.
fn signs(value: u64, bits: u32) -> u32 {
    let same = (value ^ (value.cast_signed() >> 63).cast_unsigned()).leading_zeros();
    if same >= bits { u32::MAX } else { same }
}

fn field(value: u64, first: u32, count: u32) -> u64 {
    let mask = 1u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1);
    value >> first & mask
}

fn signed_field(value: i64, first: u32, count: u32) -> i64 {
    match count {
        0 => 0,
        1..64 => {
            let unused = 64 - count;
            (value >> first) << unused >> unused
        }
        _ => value >> first,
    }
}

/// Sets a bit for each group of four bits that has one set.
fn quads(value: u64) -> u64 {
    (0..16).fold(0, |bits, quad| {
        bits | u64::from(value >> (4 * quad) & 15 != 0) << quad
    })
}

/// Sets all bits of each group of four that has one set.
fn whole_quads(value: u64) -> u64 {
    (0..16).fold(0, |bits, quad| match value >> (4 * quad) & 15 {
        0 => bits,
        _ => bits | 15 << (4 * quad),
    })
}
