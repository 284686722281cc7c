//! Results for operands that matter.

use super::wave::{Wave, named, result, single};
use crate::alu::{LANES, Row};

const QUIET: u32 = 0x7fc0_0000;
const SIGNALLING: u32 = 0x7f80_1234;

fn word(name: &str, operands: &[u32]) -> u32 {
    let operands: Vec<u64> = operands.iter().map(|&word| word.into()).collect();
    result(name, &operands, false).0 as u32
}

fn bit(name: &str, operands: &[u32]) -> bool {
    let operands: Vec<u64> = operands.iter().map(|&word| word.into()).collect();
    result(name, &operands, false).1
}

#[test]
fn inactive_lanes_keep_their_value() {
    for (name, has_mask) in [
        ("v_add_co_u32", true),
        ("v_add_f64", false),
        ("v_mov_b32", false),
    ] {
        let operation = named(name);
        for exec in [
            u64::MAX,
            0x5555_0000_ffff_8001,
            0x8001,
            1 << 63 | 1,
            0,
            0xffff_ffff,
        ] {
            let mut wave = Wave::of(operation, &vec![u64::MAX; operation.src.len()]);
            (wave.exec, wave.dst) = (exec, [[7; LANES]; 2]);
            let mask = wave.run(operation, false);
            assert_eq!(mask, if has_mask { exec } else { 0 }, "{name} {exec:#x}");
            for lane in 0..LANES {
                let kept = wave.dst[0][lane] == 7;
                assert_eq!(kept, exec >> lane & 1 == 0, "{name} {exec:#x}: lane {lane}");
            }
        }
    }
}

#[test]
fn a_source_may_be_the_destination() {
    let operation = named("v_add_nc_u32");
    let mut row: Row = std::array::from_fn(|lane| lane as u32);
    let at: *mut Row = &raw mut row;
    let operands = crate::alu::Operands {
        exec: u64::MAX,
        src: [at.cast_const(); 4],
        dst: at,
        mask: 0,
    };
    // SAFETY: the operation has two sources of one row.
    unsafe { operation.run.of_this_machine()(&operands) };
    assert_eq!(row, std::array::from_fn(|lane| 2 * lane as u32));
}

#[test]
fn all_code_of_a_machine_has_the_same_results() {
    let operation = named("v_fma_f32");
    let src: [Row; 3] = std::array::from_fn(|at| {
        std::array::from_fn(|lane| ((lane * 7 + at) as u32).wrapping_mul(0x0123_4567))
    });
    let mut dst = [[0; LANES]; 2];
    for (row, run) in dst
        .iter_mut()
        .zip([operation.run.portable, operation.run.of_this_machine()])
    {
        let [a, b, c] = src.each_ref().map(std::ptr::from_ref);
        // SAFETY: the operation has three sources of one row, and a destination of one.
        unsafe {
            run(&crate::alu::Operands {
                exec: u64::MAX,
                src: [a, b, c, c],
                dst: row,
                mask: 0,
            })
        };
    }
    assert_eq!(dst[0], dst[1]);
}

#[test]
fn the_first_nan_is_the_result_and_quiet() {
    let signalling = SIGNALLING | 0x0040_0000;
    for name in ["v_add_f32", "v_mul_f32", "v_sub_f32", "v_subrev_f32"] {
        assert_eq!(word(name, &[SIGNALLING, QUIET | 5]), signalling, "{name}");
        assert_eq!(word(name, &[0x3f80_0000, SIGNALLING]), signalling, "{name}");
    }
    assert_eq!(
        word("v_fma_f32", &[0, 0x7f80_0000, 0xffc0_0001]),
        0xffc0_0001
    );
    assert_eq!(word("v_fma_f32", &[0, 0x7f80_0000, 0]), QUIET);
    assert_eq!(word("v_add_f32", &[0x7f80_0000, 0xff80_0000]), QUIET);
    assert_eq!(word("v_add_f16", &[0x7c01, 0x3c00]), 0x7e01);
    assert_eq!(
        result("v_sqrt_f64", &[(-1.0f64).to_bits()], false).0,
        f64::NAN.to_bits()
    );
}

#[test]
fn minimum_and_maximum() {
    let [one, zero, negative_zero] = [0x3f80_0000, 0, 0x8000_0000];
    assert_eq!(word("v_min_f32", &[zero, negative_zero]), negative_zero);
    assert_eq!(word("v_max_f32", &[negative_zero, zero]), zero);
    assert_eq!(word("v_min_f32", &[QUIET, one]), one);
    assert_eq!(
        word("v_min_f32", &[one, SIGNALLING]),
        SIGNALLING | 0x0040_0000
    );
    assert_eq!(word("v_min_num_f32", &[one, SIGNALLING]), one);
    assert_eq!(word("v_minimum_f32", &[one, QUIET]), QUIET);
    assert_eq!(
        word("v_minimum_f32", &[QUIET, SIGNALLING]),
        SIGNALLING | 0x0040_0000
    );
    assert_eq!(word("v_maximum_f32", &[negative_zero, zero]), zero);
    for order in [
        [1, 2, 3],
        [1, 3, 2],
        [2, 1, 3],
        [2, 3, 1],
        [3, 1, 2],
        [3, 2, 1],
    ] {
        let floats = order.map(|at| at as f32);
        assert_eq!(single("v_med3_f32", &floats), 2.0);
        assert_eq!(word("v_med3_u32", &order), 2);
        assert_eq!(word("v_med3_i32", &order), 2);
    }
    assert_eq!(word("v_med3_f32", &[one, QUIET, zero]), zero);
}

#[test]
fn carries() {
    let operands = |a: u32, b: u32, carry: u64| [a.into(), b.into(), carry];
    for (a, b, carry, sum) in [
        (u32::MAX, 0, 1, (0, true)),
        (u32::MAX, u32::MAX, 1, (0xffff_ffff, true)),
        (1, 2, 1, (4, false)),
    ] {
        assert_eq!(
            result("v_add_co_ci_u32", &operands(a, b, carry), false),
            sum
        );
    }
    assert_eq!(
        result("v_sub_co_ci_u32", &operands(0, u32::MAX, 1), false),
        (0, true)
    );
    assert_eq!(
        result("v_sub_co_ci_u32", &operands(0, 0, 1), true),
        (0, true)
    );
    assert_eq!(
        result("v_subrev_co_u32", &[1, 0], false),
        (0xffff_ffff, true)
    );
    assert_eq!(
        result(
            "v_mad_co_u64_u32",
            &[0xffff_ffff, 0xffff_ffff, u64::MAX],
            false
        ),
        (0xffff_fffe_0000_0000, true)
    );
    // The sums -1 and, too large for 64 bits, 2^63.
    assert_eq!(
        result("v_mad_co_i64_i32", &[0xffff_ffff, 1, 0], false),
        (u64::MAX, true)
    );
    assert_eq!(
        result("v_mad_co_i64_i32", &[1, 1, i64::MAX as u64], false),
        (1 << 63, false)
    );
    assert_eq!(
        result("v_add_nc_u32", &[u32::MAX.into(), 1], true).0,
        u32::MAX.into()
    );
    assert_eq!(result("v_sub_nc_i32", &[1 << 31, 1], true).0, 1 << 31);
    assert_eq!(
        result("v_mul_u32_u24", &[0xff00_ffff, 0x1_0001], false).0,
        0xffff_ffff
    );
    assert_eq!(
        result("v_mad_i32_i24", &[0x80_0000, 0x7f_ffff, 0], true).0,
        1 << 31
    );
}

#[test]
fn bits_and_bytes() {
    assert_eq!(word("v_bfe_u32", &[0xdead_beef, 8, 16]), 0xadbe);
    assert_eq!(word("v_bfe_i32", &[0xdead_beef, 8, 16]), 0xffff_adbe);
    assert_eq!(word("v_bfe_i32", &[0xdead_beef, 8, 0]), 0);
    assert_eq!(word("v_bfe_i32", &[0x8000_0000, 31, 31]), 0xffff_ffff);
    assert_eq!(word("v_bfm_b32", &[4, 8]), 0xf00);
    assert_eq!(
        word("v_perm_b32", &[0x0302_8100, 0x8706_0504, 0x0d0c_0900]),
        0xff00_ff04
    );
    assert_eq!(
        word("v_perm_b32", &[0x0302_8100, 0x8706_0504, 0x0b0a_0807]),
        0x00ff_0003
    );
    assert_eq!(word("v_alignbit_b32", &[1, 0x8000_0000, 31]), 3);
    assert_eq!(word("v_cls_i32", &[0xffff_ffff]), 0xffff_ffff);
    assert_eq!(word("v_cls_i32", &[0xffff_0000]), 16);
    assert_eq!(word("v_clz_i32_u32", &[0]), 0xffff_ffff);
    assert_eq!(word("v_msad_u8", &[0x0102_0304, 0x0500_0000, 7]), 11);
    assert_eq!(
        word("v_lerp_u8", &[0xff01_0203, 0xff02_0404, 0x0001_0001]),
        0xff02_0304
    );
    assert_eq!(word("v_lshlrev_b32", &[33, 1]), 2);
    assert_eq!(word("v_sat_pk_u8_i16", &[0xffff_0123]), 0x00ff);
}

#[test]
fn classes() {
    let classes = [
        SIGNALLING,
        QUIET,
        0xff80_0000,
        0xbf80_0000,
        0x8000_0001,
        0x8000_0000,
        0,
        1,
        0x3f80_0000,
        0x7f80_0000,
    ];
    for (class, bits) in classes.into_iter().enumerate() {
        for asked in 0..10 {
            let found = bit("v_cmp_class_f32", &[bits, 1 << asked]);
            assert_eq!(found, class == asked, "{bits:#x}: {asked}");
        }
    }
    assert!(bit("v_cmp_class_f16", &[0xfc00, 1 << 2]));
    assert!(result("v_cmp_class_f64", &[1, 1 << 7], false).1);
}

#[test]
fn conversions() {
    let to = |name, value: f32| word(name, &[value.to_bits()]);
    assert_eq!(to("v_cvt_u32_f32", -1.0), 0);
    assert_eq!(to("v_cvt_u32_f32", 5e9), u32::MAX);
    assert_eq!(to("v_cvt_i32_f32", f32::NAN), 0);
    assert_eq!(to("v_cvt_i32_f32", -3e9), 1 << 31);
    assert_eq!(to("v_cvt_floor_i32_f32", -0.5), u32::MAX);
    assert_eq!(to("v_cvt_f16_f32", 65519.0), 0x7bff);
    assert_eq!(to("v_cvt_f16_f32", 65520.0), 0x7c00);
    assert_eq!(word("v_cvt_f16_f32", &[SIGNALLING]), 0x7e00);
    assert_eq!(
        word("v_cvt_pk_rtz_f16_f32", &[1e9f32.to_bits(), 0xff80_0000]),
        0xfc00_7bff
    );
    assert_eq!(
        word(
            "v_cvt_pknorm_i16_f32",
            &[1.5f32.to_bits(), (-1f32).to_bits()]
        ),
        0x8001_7fff
    );
    assert_eq!(
        word("v_cvt_pk_u8_f32", &[2.5f32.to_bits(), 1, 0x1111_1111]),
        0x1111_0211
    );
    assert_eq!(word("v_cvt_off_f32_i4", &[8]), (-0.5f32).to_bits());
    assert_eq!(
        result("v_cvt_f32_f64", &[0x7ff0_0000_2000_0000], false).0,
        0x7fc0_0001
    );
    assert_eq!(
        result("v_cvt_f64_f32", &[0xff80_0001], false).0,
        0xfff8_0000_2000_0000
    );
    assert_eq!(word("v_cvt_f32_ubyte3", &[0xff00_0000]), 255f32.to_bits());
}

#[test]
fn floats() {
    let largest_fraction = 1.0 - f32::EPSILON / 2.0;
    assert_eq!(single("v_fract_f32", &[-1e-20]), largest_fraction);
    assert_eq!(single("v_fract_f32", &[-1.25]), 0.75);
    assert_eq!(single("v_rndne_f32", &[2.5]), 2.0);
    assert_eq!(single("v_frexp_mant_f32", &[-f32::from_bits(3)]), -0.75);
    assert_eq!(word("v_frexp_exp_i32_f32", &[3]).cast_signed(), -147);
    assert_eq!(word("v_frexp_exp_i32_f32", &[0x8000_0000]), 0);
    assert_eq!(
        word("v_ldexp_f32", &[1f32.to_bits(), (-149i32).cast_unsigned()]),
        1
    );
    assert_eq!(
        word("v_ldexp_f32", &[3f32.to_bits(), (-151i32).cast_unsigned()]),
        1
    );
    assert_eq!(word("v_ldexp_f32", &[1, 400]), f32::INFINITY.to_bits());
    for (exponent, bits) in [
        (-1074, 1),
        (-1075, 0),
        (1024, f64::INFINITY.to_bits()),
        (i32::MIN, 0),
    ] {
        let operands = [1f64.to_bits(), u64::from(exponent.cast_unsigned())];
        assert_eq!(
            result("v_ldexp_f64", &operands, false).0,
            bits,
            "{exponent}"
        );
    }
    // 1.5 times the smallest, and the even of the two next to it.
    assert_eq!(
        result(
            "v_ldexp_f64",
            &[3f64.to_bits(), (-1075i32).cast_unsigned().into()],
            false
        )
        .0,
        2
    );
    assert_eq!(single("v_sin_f32", &[0.25]), 1.0);
    assert_eq!(single("v_sin_f32", &[0.5]), 0.0);
    assert_eq!(single("v_cos_f32", &[300.0]), 1.0);
    assert_eq!(single("v_exp_f32", &[-127.0]), 0.0);
    assert_eq!(single("v_log_f32", &[f32::from_bits(1)]), f32::NEG_INFINITY);
    assert_eq!(single("v_rcp_f32", &[-0.0]), f32::NEG_INFINITY);
    assert_eq!(single("v_mul_dx9_zero_f32", &[0.0, f32::NAN]), 0.0);
    assert_eq!(single("v_mad_f32", &[1.0, f32::from_bits(1), 0.0]), 0.0);
    assert_eq!(
        f64::from_bits(result("v_trig_preop_f64", &[1f64.to_bits(), 0], false).0),
        0x14_5f30_6dc9_c882_u64 as f64 * 2f64.powi(-53)
    );
}

/// A fused product and sum of halves is rounded once.
#[test]
fn fused_halves() {
    // 1 + 2^-11 is in the middle of two halves; the product is a little more than 2^-11.
    let [one, product] = [0x3c00, 0x1001];
    assert_eq!(word("v_fma_f16", &[one, product, one]), 0x3c01);
    assert_eq!(word("v_fma_f16", &[one, 0x1000, one]), 0x3c00);
    assert_eq!(word("v_fma_f16", &[0x0001, 0x0001, one]), 0x3c00);
    // Less than the middle of two halves by so little that a float of 32 bits would have the middle.
    assert_eq!(word("v_fma_f16", &[0x3c01, 0x0ffe, 0x3c01]), 0x3c01);
}
