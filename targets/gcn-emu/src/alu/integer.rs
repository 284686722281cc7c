//! Integer arithmetic. Shifts take as many bits of the distance as the width has.

use super::bytes::{sad_u8, sad_u8_masked};
use super::table::arithmetic;
use super::value::F16;
use crate::isa::ValuOp;

/// The lower 24 bits.
#[inline(always)]
fn u24(a: u32) -> u32 {
    a & 0xff_ffff
}

/// The lower 24 bits, the upper of which is the sign.
#[inline(always)]
fn i24(a: i32) -> i32 {
    a << 8 >> 8
}

/// The nearest integer of 32 bits.
#[inline(always)]
pub(super) fn saturated_i32(a: i64) -> i32 {
    a.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// The nearest integer of 32 bits.
#[inline(always)]
pub(super) fn saturated_u32(a: u64) -> u32 {
    a.min(u32::MAX.into()) as u32
}

/// A sum, and whether it has a carry.
#[inline(always)]
fn add(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u32::from(carry));
    (sum, first | second)
}

/// A difference, and whether it has a borrow.
#[inline(always)]
fn sub(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(u32::from(borrow));
    (difference, first | second)
}

/// A sum, the largest integer if it has a carry.
#[inline(always)]
fn add_saturated((sum, carry): (u32, bool)) -> (u32, bool) {
    (if carry { u32::MAX } else { sum }, carry)
}

/// A difference, 0 if it has a borrow.
#[inline(always)]
fn sub_saturated((difference, borrow): (u32, bool)) -> (u32, bool) {
    (if borrow { 0 } else { difference }, borrow)
}

/// The bits of a field of that width.
#[inline(always)]
fn field(width: u32) -> u32 {
    (1 << (width & 31)) - 1
}

arithmetic! { ValuOp;
    v_mov_b16: (a: u16) -> u16 { a };
    v_mov_b32: (a: u32) -> u32 { a };
    v_mov_b64: (a: u64) -> u64 { a };
    v_cndmask_b16: (a: u16, b: u16, second: bool) -> u16 { if second { b } else { a } };
    v_cndmask_b32: (a: u32, b: u32, second: bool) -> u32 { if second { b } else { a } };

    v_not_b16: (a: u16) -> u16 { !a };
    v_and_b16: (a: u16, b: u16) -> u16 { a & b };
    v_or_b16: (a: u16, b: u16) -> u16 { a | b };
    v_xor_b16: (a: u16, b: u16) -> u16 { a ^ b };
    v_not_b32: (a: u32) -> u32 { !a };
    v_and_b32: (a: u32, b: u32) -> u32 { a & b };
    v_or_b32: (a: u32, b: u32) -> u32 { a | b };
    v_xor_b32: (a: u32, b: u32) -> u32 { a ^ b };
    v_xnor_b32: (a: u32, b: u32) -> u32 { !(a ^ b) };
    v_xor3_b32: (a: u32, b: u32, c: u32) -> u32 { a ^ b ^ c };
    v_or3_b32: (a: u32, b: u32, c: u32) -> u32 { a | b | c };
    v_and_or_b32: (a: u32, b: u32, c: u32) -> u32 { a & b | c };
    v_bfi_b32: (a: u32, b: u32, c: u32) -> u32 { a & b | !a & c };
    v_bfm_b32: (width: u32, offset: u32) -> u32 { field(width) << (offset & 31) };
    v_bfe_u32: (a: u32, offset: u32, width: u32) -> u32 { a >> (offset & 31) & field(width) };
    v_bfe_i32: (a: i32, offset: u32, width: u32) -> i32 {
        // The distance from the field's upper bit to the sign, in two steps since it may be 32.
        let unused = 31 - (width & 31);
        a >> (offset & 31) << unused << 1 >> 1 >> unused
    };
    v_bfrev_b32: (a: u32) -> u32 { a.reverse_bits() };
    v_bcnt_u32_b32: (a: u32, b: u32) -> u32 { a.count_ones().wrapping_add(b) };
    v_clz_i32_u32: (a: u32) -> i32 { if a == 0 { -1 } else { a.leading_zeros().cast_signed() } };
    v_ctz_i32_b32: (a: u32) -> i32 { if a == 0 { -1 } else { a.trailing_zeros().cast_signed() } };
    v_cls_i32: (a: i32) -> i32 {
        let different = (a ^ a >> 31).cast_unsigned();
        if different == 0 { -1 } else { different.leading_zeros().cast_signed() }
    };
    v_pack_b32_f16: (a: F16, b: F16) -> u32 { u32::from(b.0) << 16 | u32::from(a.0) };
    v_perm_b32: (a: u32, b: u32, select: u32) -> u32 {
        let data = u64::from(a) << 32 | u64::from(b);
        (0..4).fold(0, |result, at| {
            let select = select >> (8 * at) & 0xff;
            let signs = (data >> ((select & 3) * 16 + 15) & 1) as u32 * 0xff;
            let byte = match select {
                0..8 => (data >> ((select & 7) * 8)) as u32 & 0xff,
                8..12 => signs,
                12 => 0,
                _ => 0xff,
            };
            result | byte << (8 * at)
        })
    };
    v_alignbit_b32: (a: u32, b: u32, distance: u16) -> u32 {
        ((u64::from(a) << 32 | u64::from(b)) >> (distance & 31)) as u32
    };
    v_alignbyte_b32: (a: u32, b: u32, distance: u16) -> u32 {
        ((u64::from(a) << 32 | u64::from(b)) >> ((distance & 3) * 8)) as u32
    };

    v_lshlrev_b16: (distance: u16, a: u16) -> u16 { a << (distance & 15) };
    v_lshrrev_b16: (distance: u16, a: u16) -> u16 { a >> (distance & 15) };
    v_ashrrev_i16: (distance: u16, a: i16) -> i16 { a >> (distance & 15) };
    v_lshlrev_b32: (distance: u32, a: u32) -> u32 { a << (distance & 31) };
    v_lshrrev_b32: (distance: u32, a: u32) -> u32 { a >> (distance & 31) };
    v_ashrrev_i32: (distance: u32, a: i32) -> i32 { a >> (distance & 31) };
    v_lshlrev_b64: (distance: u32, a: u64) -> u64 { a << (distance & 63) };
    v_lshrrev_b64: (distance: u32, a: u64) -> u64 { a >> (distance & 63) };
    v_ashrrev_i64: (distance: u32, a: i64) -> i64 { a >> (distance & 63) };
    v_lshl_or_b32: (a: u32, distance: u32, b: u32) -> u32 { a << (distance & 31) | b };
    v_lshl_add_u32: (a: u32, distance: u32, b: u32) -> u32 {
        (a << (distance & 31)).wrapping_add(b)
    };
    v_add_lshl_u32: (a: u32, b: u32, distance: u32) -> u32 {
        a.wrapping_add(b) << (distance & 31)
    };
    v_lshl_add_u64: (a: u64, distance: u32, b: u64) -> u64 {
        (a << (distance & 7)).wrapping_add(b)
    };
    v_xad_u32: (a: u32, b: u32, c: u32) -> u32 { (a ^ b).wrapping_add(c) };

    v_add_nc_u16: (a: u16, b: u16) -> u16 { a.wrapping_add(b) } clamp { a.saturating_add(b) };
    v_sub_nc_u16: (a: u16, b: u16) -> u16 { a.wrapping_sub(b) } clamp { a.saturating_sub(b) };
    v_subrev_u16: (a: u16, b: u16) -> u16 { b.wrapping_sub(a) } clamp { b.saturating_sub(a) };
    v_add_nc_i16: (a: i16, b: i16) -> i16 { a.wrapping_add(b) } clamp { a.saturating_add(b) };
    v_sub_nc_i16: (a: i16, b: i16) -> i16 { a.wrapping_sub(b) } clamp { a.saturating_sub(b) };
    v_add_nc_u32: (a: u32, b: u32) -> u32 { a.wrapping_add(b) } clamp { a.saturating_add(b) };
    v_sub_nc_u32: (a: u32, b: u32) -> u32 { a.wrapping_sub(b) } clamp { a.saturating_sub(b) };
    v_subrev_nc_u32: (a: u32, b: u32) -> u32 { b.wrapping_sub(a) } clamp { b.saturating_sub(a) };
    v_add_nc_i32: (a: i32, b: i32) -> i32 { a.wrapping_add(b) } clamp { a.saturating_add(b) };
    v_sub_nc_i32: (a: i32, b: i32) -> i32 { a.wrapping_sub(b) } clamp { a.saturating_sub(b) };
    v_add3_u32: (a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b).wrapping_add(c) };
    v_add_co_u32: (a: u32, b: u32) -> (u32, bool) { add(a, b, false) }
        clamp { add_saturated(add(a, b, false)) };
    v_sub_co_u32: (a: u32, b: u32) -> (u32, bool) { sub(a, b, false) }
        clamp { sub_saturated(sub(a, b, false)) };
    v_subrev_co_u32: (a: u32, b: u32) -> (u32, bool) { sub(b, a, false) }
        clamp { sub_saturated(sub(b, a, false)) };
    v_add_co_ci_u32: (a: u32, b: u32, carry: bool) -> (u32, bool) { add(a, b, carry) }
        clamp { add_saturated(add(a, b, carry)) };
    v_sub_co_ci_u32: (a: u32, b: u32, borrow: bool) -> (u32, bool) { sub(a, b, borrow) }
        clamp { sub_saturated(sub(a, b, borrow)) };
    v_subrev_co_ci_u32: (a: u32, b: u32, borrow: bool) -> (u32, bool) { sub(b, a, borrow) }
        clamp { sub_saturated(sub(b, a, borrow)) };

    v_min_u16: (a: u16, b: u16) -> u16 { a.min(b) };
    v_max_u16: (a: u16, b: u16) -> u16 { a.max(b) };
    v_min_i16: (a: i16, b: i16) -> i16 { a.min(b) };
    v_max_i16: (a: i16, b: i16) -> i16 { a.max(b) };
    v_min_u32: (a: u32, b: u32) -> u32 { a.min(b) };
    v_max_u32: (a: u32, b: u32) -> u32 { a.max(b) };
    v_min_i32: (a: i32, b: i32) -> i32 { a.min(b) };
    v_max_i32: (a: i32, b: i32) -> i32 { a.max(b) };
    v_min3_u16: (a: u16, b: u16, c: u16) -> u16 { a.min(b).min(c) };
    v_max3_u16: (a: u16, b: u16, c: u16) -> u16 { a.max(b).max(c) };
    v_med3_u16: (a: u16, b: u16, c: u16) -> u16 { a.min(b).max(a.max(b).min(c)) };
    v_min3_i16: (a: i16, b: i16, c: i16) -> i16 { a.min(b).min(c) };
    v_max3_i16: (a: i16, b: i16, c: i16) -> i16 { a.max(b).max(c) };
    v_med3_i16: (a: i16, b: i16, c: i16) -> i16 { a.min(b).max(a.max(b).min(c)) };
    v_min3_u32: (a: u32, b: u32, c: u32) -> u32 { a.min(b).min(c) };
    v_max3_u32: (a: u32, b: u32, c: u32) -> u32 { a.max(b).max(c) };
    v_med3_u32: (a: u32, b: u32, c: u32) -> u32 { a.min(b).max(a.max(b).min(c)) };
    v_min3_i32: (a: i32, b: i32, c: i32) -> i32 { a.min(b).min(c) };
    v_max3_i32: (a: i32, b: i32, c: i32) -> i32 { a.max(b).max(c) };
    v_med3_i32: (a: i32, b: i32, c: i32) -> i32 { a.min(b).max(a.max(b).min(c)) };
    v_maxmin_u32: (a: u32, b: u32, c: u32) -> u32 { a.max(b).min(c) };
    v_minmax_u32: (a: u32, b: u32, c: u32) -> u32 { a.min(b).max(c) };
    v_maxmin_i32: (a: i32, b: i32, c: i32) -> i32 { a.max(b).min(c) };
    v_minmax_i32: (a: i32, b: i32, c: i32) -> i32 { a.min(b).max(c) };

    v_mul_lo_u16: (a: u16, b: u16) -> u16 { a.wrapping_mul(b) };
    v_mul_lo_u32: (a: u32, b: u32) -> u32 { a.wrapping_mul(b) };
    v_mul_hi_u32: (a: u32, b: u32) -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 };
    v_mul_hi_i32: (a: i32, b: i32) -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 };
    v_mul_u32_u24: (a: u32, b: u32) -> u32 { u24(a).wrapping_mul(u24(b)) }
        clamp { saturated_u32(u64::from(u24(a)) * u64::from(u24(b))) };
    v_mul_hi_u32_u24: (a: u32, b: u32) -> u32 {
        ((u64::from(u24(a)) * u64::from(u24(b))) >> 32) as u32
    };
    v_mul_i32_i24: (a: i32, b: i32) -> i32 { i24(a).wrapping_mul(i24(b)) }
        clamp { saturated_i32(i64::from(i24(a)) * i64::from(i24(b))) };
    v_mul_hi_i32_i24: (a: i32, b: i32) -> i32 {
        ((i64::from(i24(a)) * i64::from(i24(b))) >> 32) as i32
    };
    v_mad_u32_u24: (a: u32, b: u32, c: u32) -> u32 {
        u24(a).wrapping_mul(u24(b)).wrapping_add(c)
    } clamp { saturated_u32(u64::from(u24(a)) * u64::from(u24(b)) + u64::from(c)) };
    v_mad_i32_i24: (a: i32, b: i32, c: i32) -> i32 {
        i24(a).wrapping_mul(i24(b)).wrapping_add(c)
    } clamp { saturated_i32(i64::from(i24(a)) * i64::from(i24(b)) + i64::from(c)) };
    v_mad_u16 | v_mad_legacy_u16: (a: u16, b: u16, c: u16) -> u16 {
        a.wrapping_mul(b).wrapping_add(c)
    } clamp {
        (u32::from(a) * u32::from(b)).saturating_add(c.into()).min(u16::MAX.into()) as u16
    };
    v_mad_i16 | v_mad_legacy_i16: (a: i16, b: i16, c: i16) -> i16 {
        a.wrapping_mul(b).wrapping_add(c)
    } clamp {
        let sum = i64::from(a) * i64::from(b) + i64::from(c);
        sum.clamp(i16::MIN.into(), i16::MAX.into()) as i16
    };
    v_mad_u32_u16: (a: u16, b: u16, c: u32) -> u32 {
        (u32::from(a) * u32::from(b)).wrapping_add(c)
    } clamp { (u32::from(a) * u32::from(b)).saturating_add(c) };
    v_mad_i32_i16: (a: i16, b: i16, c: i32) -> i32 {
        (i32::from(a) * i32::from(b)).wrapping_add(c)
    } clamp { (i32::from(a) * i32::from(b)).saturating_add(c) };
    v_mad_co_u64_u32: (a: u32, b: u32, c: u64) -> (u64, bool) {
        (u64::from(a) * u64::from(b)).overflowing_add(c)
    } clamp {
        let (sum, carry) = (u64::from(a) * u64::from(b)).overflowing_add(c);
        (if carry { u64::MAX } else { sum }, carry)
    };
    // The mask is the sign of the exact sum.
    v_mad_co_i64_i32: (a: i32, b: i32, c: i64) -> (i64, bool) {
        let (sum, overflow) = (i64::from(a) * i64::from(b)).overflowing_add(c);
        (sum, (sum < 0) != overflow)
    } clamp {
        let product = i64::from(a) * i64::from(b);
        let (sum, overflow) = product.overflowing_add(c);
        (product.saturating_add(c), (sum < 0) != overflow)
    };

    v_lerp_u8: (a: u32, b: u32, round: u32) -> u32 {
        (0..4).fold(0, |result, at| {
            let byte = |word: u32| word >> (8 * at) & 0xff;
            result | ((byte(a) + byte(b) + (byte(round) & 1)) / 2) << (8 * at)
        })
    };
    v_sad_u8: (a: u32, b: u32, c: u32) -> u32 { sad_u8(a, b).wrapping_add(c) }
        clamp { sad_u8(a, b).saturating_add(c) };
    v_sad_hi_u8: (a: u32, b: u32, c: u32) -> u32 { (sad_u8(a, b) << 16).wrapping_add(c) }
        clamp { (sad_u8(a, b) << 16).saturating_add(c) };
    v_sad_u16: (a: u32, b: u32, c: u32) -> u32 {
        let low = (a & 0xffff).abs_diff(b & 0xffff);
        low.wrapping_add((a >> 16).abs_diff(b >> 16)).wrapping_add(c)
    } clamp { ((a & 0xffff).abs_diff(b & 0xffff) + (a >> 16).abs_diff(b >> 16)).saturating_add(c) };
    v_sad_u32: (a: u32, b: u32, c: u32) -> u32 { a.abs_diff(b).wrapping_add(c) }
        clamp { a.abs_diff(b).saturating_add(c) };
    v_msad_u8: (a: u32, b: u32, c: u32) -> u32 { sad_u8_masked(a, b).wrapping_add(c) }
        clamp { sad_u8_masked(a, b).saturating_add(c) };
    v_qsad_pk_u16_u8: (a: u64, b: u32, c: u64) -> u64 {
        super::bytes::quads(a, c, |a, c| (sad_u8(a, b) as u16).wrapping_add(c))
    } clamp {
        super::bytes::quads(a, c, |a, c| (sad_u8(a, b) as u16).saturating_add(c))
    };
    v_mqsad_pk_u16_u8: (a: u64, b: u32, c: u64) -> u64 {
        super::bytes::quads(a, c, |a, c| (sad_u8_masked(a, b) as u16).wrapping_add(c))
    } clamp {
        super::bytes::quads(a, c, |a, c| (sad_u8_masked(a, b) as u16).saturating_add(c))
    };
    v_dot2c_i32_i16: (a: u32, b: u32; sum: i32) -> i32 {
        super::dot::signed(16, a, b, sum.into()) as i32
    } clamp { saturated_i32(super::dot::signed(16, a, b, sum.into())) };
    v_dot4c_i32_i8: (a: u32, b: u32; sum: i32) -> i32 {
        super::dot::signed(8, a, b, sum.into()) as i32
    } clamp { saturated_i32(super::dot::signed(8, a, b, sum.into())) };
    v_dot8c_i32_i4: (a: u32, b: u32; sum: i32) -> i32 {
        super::dot::signed(4, a, b, sum.into()) as i32
    } clamp { saturated_i32(super::dot::signed(4, a, b, sum.into())) };
}
