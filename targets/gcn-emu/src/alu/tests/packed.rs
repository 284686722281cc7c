//! Packed arithmetic with modifiers.

use super::wave::packed;
use crate::inst::PackedModifiers;

/// Modifiers that select the low half for the low result and the high half for the high one.
const PLAIN: PackedModifiers = PackedModifiers {
    clamp: false,
    op_sel: 0,
    op_sel_hi: 7,
    neg_lo: 0,
    neg_hi: 0,
    dpp: None,
};

#[test]
fn halves_are_selected_and_negated() {
    let [one, two, three] = [0x3c00, 0x4000, 0x4200];
    let operands = [one | two << 16, three | three << 16];
    assert_eq!(packed("v_pk_add_f16", &operands, PLAIN), Some(0x4500_4400));
    let swapped = PackedModifiers {
        op_sel: 1,
        op_sel_hi: 2,
        ..PLAIN
    };
    assert_eq!(
        packed("v_pk_add_f16", &operands, swapped),
        Some(0x4400_4500)
    );
    let negated = PackedModifiers {
        neg_lo: 1,
        neg_hi: 2,
        ..PLAIN
    };
    assert_eq!(
        packed("v_pk_add_f16", &operands, negated),
        Some(0xbc00_4000)
    );
    let clamped = PackedModifiers {
        clamp: true,
        ..negated
    };
    assert_eq!(
        packed("v_pk_add_f16", &operands, clamped),
        Some(0x0000_3c00)
    );
    assert_eq!(packed("v_pk_mul_lo_u16", &operands, negated), None);
}

#[test]
fn integers_are_clamped() {
    let clamped = PackedModifiers {
        clamp: true,
        ..PLAIN
    };
    assert_eq!(
        packed("v_pk_add_u16", &[0xffff_0001, 0x0001_0001], PLAIN),
        Some(2)
    );
    assert_eq!(
        packed("v_pk_add_u16", &[0xffff_0001, 0x0001_0001], clamped),
        Some(0xffff_0002)
    );
    assert_eq!(
        packed("v_pk_sub_i16", &[0x8000_0000, 0x0001_0001], clamped),
        Some(0x8000_ffff)
    );
    let large = [0x8080_8080, 0x8080_8080, 0x7fff_ffff];
    assert_eq!(packed("v_dot4_i32_i8", &large, clamped), Some(0x7fff_ffff));
    assert_eq!(packed("v_dot4_i32_i8", &large, PLAIN), Some(0x8000_ffff));
}

#[test]
fn rows_are_selected() {
    let pair = |low: f32, high: f32| u64::from(high.to_bits()) << 32 | u64::from(low.to_bits());
    let operands = [pair(1.0, 2.0), pair(10.0, 20.0)];
    assert_eq!(
        packed("v_pk_add_f32", &operands, PLAIN),
        Some(pair(11.0, 22.0))
    );
    let both_low = PackedModifiers {
        op_sel_hi: 2,
        neg_hi: 1,
        ..PLAIN
    };
    assert_eq!(
        packed("v_pk_add_f32", &operands, both_low),
        Some(pair(11.0, 19.0))
    );
    let moved = PackedModifiers { op_sel: 1, ..PLAIN };
    assert_eq!(
        packed("v_pk_mov_b32", &operands, moved),
        Some(pair(2.0, 10.0))
    );
}

#[test]
fn signs_of_small_integers() {
    let operands = [0xff, 0xff, 10];
    let result = |neg_lo| {
        packed(
            "v_dot4_i32_iu8",
            &operands,
            PackedModifiers { neg_lo, ..PLAIN },
        )
    };
    assert_eq!(result(0), Some(255 * 255 + 10));
    assert_eq!(result(1), Some(u64::from((10 - 255i32).cast_unsigned())));
    assert_eq!(result(3), Some(11));
}

#[test]
fn halves_and_floats_mix() {
    let operands = [
        0x4000_3c00,
        u64::from(10f32.to_bits()),
        0x4200_4200,
        0xaaaa_bbbb,
    ];
    let modifiers = PackedModifiers {
        op_sel: 1,
        op_sel_hi: 5,
        neg_lo: 4,
        ..PLAIN
    };
    let float = packed("v_fma_mix_f32", &operands[..3], modifiers);
    assert_eq!(float, Some(17f32.to_bits().into()));
    assert_eq!(
        packed("v_fma_mixlo_f16", &operands, modifiers),
        Some(0xaaaa_4c40)
    );
    assert_eq!(
        packed("v_fma_mixhi_f16", &operands, modifiers),
        Some(0x4c40_bbbb)
    );
    let clamped = PackedModifiers {
        clamp: true,
        ..modifiers
    };
    assert_eq!(
        packed("v_fma_mixhi_f16", &operands, clamped),
        Some(0x3c00_bbbb)
    );
}

#[test]
fn floats_of_8_bits() {
    // 1.5 and the smallest of both formats, and a NaN.
    let sum = |name, a, b| packed(name, &[a, b, 0], PLAIN).map(|bits| f32::from_bits(bits as u32));
    assert_eq!(sum("v_dot4_f32_fp8_fp8", 0x3c, 0x3c), Some(2.25));
    assert_eq!(sum("v_dot4_f32_fp8_bf8", 0x01, 0x3e), Some(1.5 / 512.0));
    assert_eq!(
        sum("v_dot4_f32_bf8_bf8", 0x0100, 0x3c00),
        Some(1.0 / 65536.0)
    );
    assert!(sum("v_dot4_f32_fp8_fp8", 0x7f, 0x3c).is_some_and(f32::is_nan));
    assert_eq!(sum("v_dot4_f32_fp8_fp8", 0x7e, 0x38), Some(448.0));
}
