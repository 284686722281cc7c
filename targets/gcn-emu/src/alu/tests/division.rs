//! Divisions by the sequences of compiled code: quotients are rounded correctly.

use super::wave::{double, result, single};

fn bits(values: &[f32]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits().into()).collect()
}

/// LLVM's sequence for floats of 32 bits.
fn quotient_single(numerator: f32, denominator: f32) -> f32 {
    let scaled = |value| {
        let operands = bits(&[value, denominator, numerator]);
        let (scaled, lacks) = result("v_div_scale_f32", &operands, false);
        (f32::from_bits(scaled as u32), lacks)
    };
    let (d, _) = scaled(denominator);
    let (n, lacks) = scaled(numerator);
    let fma = |a, b, c| single("v_fma_f32", &[a, b, c]);
    let reciprocal = single("v_rcp_f32", &[d]);
    let reciprocal = fma(fma(-d, reciprocal, 1.0), reciprocal, reciprocal);
    let first = single("v_mul_f32", &[n, reciprocal]);
    let second = fma(fma(-d, first, n), reciprocal, first);
    let mut operands = bits(&[fma(-d, second, n), reciprocal, second]);
    operands.push(lacks.into());
    let (last, _) = result("v_div_fmas_f32", &operands, false);
    single(
        "v_div_fixup_f32",
        &[f32::from_bits(last as u32), denominator, numerator],
    )
}

/// LLVM's sequence for floats of 64 bits.
fn quotient_double(numerator: f64, denominator: f64) -> f64 {
    let scaled = |value: f64| {
        let operands = [value, denominator, numerator].map(f64::to_bits);
        let (scaled, lacks) = result("v_div_scale_f64", &operands, false);
        (f64::from_bits(scaled), lacks)
    };
    let (d, _) = scaled(denominator);
    let (n, lacks) = scaled(numerator);
    let fma = |a, b, c| double("v_fma_f64", &[a, b, c]);
    let mut reciprocal = double("v_rcp_f64", &[d]);
    for _ in 0..2 {
        reciprocal = fma(reciprocal, fma(-d, reciprocal, 1.0), reciprocal);
    }
    let first = double("v_mul_f64", &[n, reciprocal]);
    let rest = fma(-d, first, n);
    let operands = [rest, reciprocal, first].map(f64::to_bits);
    let operands = [operands[0], operands[1], operands[2], lacks.into()];
    let (last, _) = result("v_div_fmas_f64", &operands, false);
    double(
        "v_div_fixup_f64",
        &[f64::from_bits(last), denominator, numerator],
    )
}

/// Numbers that look random, always the same.
fn numbers(count: usize) -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
    .take(count)
}

#[test]
fn quotients_of_floats() {
    let special = [
        0.0,
        1.0,
        3.0,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x7f_ffff),
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        1.5e-45,
        1e38,
        2f32.powi(126),
        2f32.powi(127),
        2f32.powi(-103),
    ];
    let signed = special.iter().flat_map(|&value| [value, -value]);
    let all: Vec<f32> = signed
        .chain(numbers(200).map(|bits| f32::from_bits(bits as u32)))
        .collect();
    for &n in &all {
        for &d in &all {
            let (ours, exact) = (quotient_single(n, d), n / d);
            let same = ours.is_nan() && exact.is_nan() || ours.to_bits() == exact.to_bits();
            assert!(same, "{n:e} / {d:e}: {ours:e} instead of {exact:e}");
        }
    }
}

#[test]
fn quotients_of_doubles() {
    let special = [
        0.0,
        1.0,
        3.0,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::from_bits((1 << 52) - 1),
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
        1e308,
        2f64.powi(1022),
        2f64.powi(1023),
        2f64.powi(-970),
    ];
    let signed = special.iter().flat_map(|&value| [value, -value]);
    let all: Vec<f64> = signed.chain(numbers(200).map(f64::from_bits)).collect();
    for &n in &all {
        for &d in &all {
            let (ours, exact) = (quotient_double(n, d), n / d);
            let same = ours.is_nan() && exact.is_nan() || ours.to_bits() == exact.to_bits();
            assert!(same, "{n:e} / {d:e}: {ours:e} instead of {exact:e}");
        }
    }
}

/// Subnormal quotients close to the middle of two floats round once.
#[test]
fn subnormal_quotients() {
    for bits in numbers(20_000) {
        let n = f32::from_bits((bits as u32 & 0x1fff_ffff) + 0x0080_0000);
        let d = f32::from_bits((bits >> 32) as u32 & 0x3fff_ffff | 0x4000_0000);
        if d.is_finite() {
            let (ours, exact) = (quotient_single(n, d), n / d);
            assert_eq!(
                ours.to_bits(),
                exact.to_bits(),
                "{n:e} / {d:e}: {ours:e}, not {exact:e}"
            );
        }
    }
}

/// The same of doubles.
#[test]
fn subnormal_quotients_of_doubles() {
    let all: Vec<u64> = numbers(20_001).collect();
    for pair in all.windows(2) {
        let n = f64::from_bits((pair[0] & 0x1fff_ffff_ffff_ffff) + (1 << 52));
        let d = f64::from_bits(pair[1] & 0x3fff_ffff_ffff_ffff | 0x4000_0000_0000_0000);
        if d.is_finite() {
            let (ours, exact) = (quotient_double(n, d), n / d);
            assert_eq!(
                ours.to_bits(),
                exact.to_bits(),
                "{n:e} / {d:e}: {ours:e}, not {exact:e}"
            );
        }
    }
    // In the middle of two subnormal numbers, and next to it.
    for odd in (1..2000).step_by(2) {
        let d = 2f64.powi(900);
        for n in [f64::from_bits(odd), f64::from_bits(odd + 1)].map(|n| n * 2f64.powi(899)) {
            for n in [n, n.next_up(), n.next_down()] {
                assert_eq!(quotient_double(n, d).to_bits(), (n / d).to_bits(), "{n:e}");
            }
        }
    }
}
