//! The first step of the reduction of large angles.

use super::float::Float;
use super::scale::scaled_double;

/// The first 1201 bits of 2/π behind the point, from the upper bit of the first word on.
const TWO_BY_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_0000,
];

/// The bits of 2/π from a position on, as many as a double has.
#[inline(always)]
fn digits(first: u32) -> u64 {
    let (word, offset) = ((first / 64) as usize, first % 64);
    let at = |word: usize| TWO_BY_PI.get(word).copied().unwrap_or(0);
    let upper = at(word) << offset;
    let lower = at(word + 1).checked_shr(64 - offset).unwrap_or(0);
    (upper | lower) >> 11
}

/// The part of 2/π with which an angle is multiplied: the segment, of 53 bits, is that behind those
/// whose products with the angle are whole turns.
#[inline(always)]
pub(super) fn segment_of_two_by_pi(angle: f64, segment: u32) -> f64 {
    let exponent = angle.biased();
    let first = (segment & 31).cast_signed() * 53 + (exponent - 1077).max(0);
    let scale = if exponent >= 1968 { 128 } else { 0 };
    scaled_double(digits(first.cast_unsigned()) as f64, scale - 53 - first)
}
