//! Sums of absolute differences of bytes.

#[inline(always)]
fn byte(word: u32, at: u32) -> u32 {
    word >> (8 * at) & 0xff
}

/// The sum of the differences.
#[inline(always)]
pub(super) fn sad_u8(a: u32, b: u32) -> u32 {
    (0..4).fold(0, |sum, at| sum + byte(a, at).abs_diff(byte(b, at)))
}

/// The sum of those differences where the second has a byte that is not 0.
#[inline(always)]
pub(super) fn sad_u8_masked(a: u32, b: u32) -> u32 {
    (0..4).fold(0, |sum, at| match byte(b, at) {
        0 => sum,
        other => sum + byte(a, at).abs_diff(other),
    })
}

/// Four results of 16 bits: of the words that start at the first four bytes, and the words of 16
/// bits of `c`.
#[inline(always)]
pub(super) fn quads(a: u64, c: u64, one: impl Fn(u32, u16) -> u16) -> u64 {
    (0..4).fold(0, |result, at| {
        let word = one((a >> (8 * at)) as u32, (c >> (16 * at)) as u16);
        result | u64::from(word) << (16 * at)
    })
}
