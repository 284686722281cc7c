//! Dot products of the parts of two words.

use super::float::result_of;
use super::value::{BF16, F16};

/// The sum of products of integers of that many bits with a sign, and a further summand. Exact.
#[inline(always)]
pub(super) fn signed(bits: u32, a: u32, b: u32, sum: i64) -> i64 {
    mixed(bits, a, true, b, true, sum)
}

/// The sum of products of integers of that many bits without a sign, and a further summand. Exact.
#[inline(always)]
pub(super) fn unsigned(bits: u32, a: u32, b: u32, sum: u64) -> u64 {
    mixed(bits, a, false, b, false, sum.cast_signed()).cast_unsigned()
}

/// The sum of products of integers of that many bits, each word with signs or without. Exact.
#[inline(always)]
pub(super) fn mixed(
    bits: u32,
    a: u32,
    a_is_signed: bool,
    b: u32,
    b_is_signed: bool,
    sum: i64,
) -> i64 {
    let part = |word: u32, at: u32, is_signed: bool| {
        let upper = word << (32 - bits - bits * at);
        let part = if is_signed {
            upper.cast_signed() >> (32 - bits)
        } else {
            (upper >> (32 - bits)).cast_signed()
        };
        i64::from(part)
    };
    (0..32 / bits).fold(sum, |sum, at| {
        sum + part(a, at, a_is_signed) * part(b, at, b_is_signed)
    })
}

/// The sum of products of pairs, of which each step is rounded.
#[inline(always)]
pub(super) fn floats(a: [f32; 2], b: [f32; 2], sum: f32) -> f32 {
    (0..2).fold(sum, |sum, at| {
        let product = result_of([a[at], b[at]], a[at] * b[at]);
        result_of([sum, product], sum + product)
    })
}

/// The halves of a word.
#[inline(always)]
pub(super) fn halves(word: u32) -> [f32; 2] {
    [F16(word as u16).single(), F16((word >> 16) as u16).single()]
}

/// The bfloats of a word.
#[inline(always)]
pub(super) fn bfloats(word: u32) -> [f32; 2] {
    [
        BF16(word as u16).single(),
        BF16((word >> 16) as u16).single(),
    ]
}

/// The sum of products of pairs, of which each step is rounded by `round`.
#[inline(always)]
pub(super) fn narrow(a: [f32; 2], b: [f32; 2], sum: f32, round: impl Fn(f32) -> f32) -> f32 {
    (0..2).fold(sum, |sum, at| {
        let product = round(result_of([a[at], b[at]], a[at] * b[at]));
        round(result_of([sum, product], sum + product))
    })
}

/// The sum of products of pairs of integers, and a further summand.
#[inline(always)]
pub(super) fn pairs(a: [i64; 2], b: [i64; 2], sum: i64) -> i64 {
    sum + a[0] * b[0] + a[1] * b[1]
}
