//! Elements of memory in the registers of a lane.

use super::access::Element;
use super::wave::Wave;

/// Writes an element to the registers of a lane.
#[inline]
pub(super) fn write(wave: &mut Wave, lane: usize, row: usize, element: Element, loaded: u128) {
    let words = element.words();
    if words == 1 {
        let old = wave.word(row, lane);
        wave.set_word(row, lane, element.extended(loaded as u32, old));
        return;
    }
    for word in 0..words {
        wave.set_word(row + word, lane, (loaded >> (32 * word)) as u32);
    }
}

/// Reads an element from the registers of a lane.
#[inline]
pub(super) fn read(wave: &Wave, lane: usize, row: usize, element: Element) -> u128 {
    let words = element.words();
    if words == 1 {
        return element.stored(wave.word(row, lane)).into();
    }
    (0..words).fold(0, |all, word| {
        all | u128::from(wave.word(row + word, lane)) << (32 * word)
    })
}
