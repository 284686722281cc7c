//! Formatting without an allocator: a text of any length goes through a small buffer.

use core::fmt;

/// Bytes of a buffer. A piece of this length fits into the slot of a lane that calls alone.
const BYTES: usize = 256;

/// The end of a text that is being formatted. The text before it is on the host, in pieces.
///
/// A piece ends between two characters. If the host does not keep a piece, the text ends with it, and
/// the rest becomes a text of its own: nothing is lost.
pub(crate) struct PieceBuffer<P: Fn(&str, u64) -> u64, F: Fn(&str, u64)> {
    bytes: [u8; BYTES],
    len: usize,
    /// The number of the pieces that the host has; 0 if there are none.
    pieces: u64,
    /// Sends a piece after those of a number; returns the number of all, or 0 if the host has not kept
    /// this one.
    send_piece: P,
    /// Sends the end of a text after the pieces of that number.
    send_end: F,
}

impl<P: Fn(&str, u64) -> u64, F: Fn(&str, u64)> PieceBuffer<P, F> {
    /// An empty text. Both functions get a part of the text, and the number of the pieces before it, or
    /// 0.
    pub(crate) fn new(send_piece: P, send_end: F) -> Self {
        Self {
            bytes: [0; BYTES],
            len: 0,
            pieces: 0,
            send_piece,
            send_end,
        }
    }

    /// Sends the end of the text, even if it is empty.
    pub(crate) fn finish(mut self) {
        self.end();
    }

    /// The text in the buffer.
    fn text(&self) -> &str {
        // SAFETY: `write_str` has copied whole characters, one after the other, to the first `len`
        // bytes. (Checking them again would cost a loop.)
        unsafe { core::str::from_utf8_unchecked(&self.bytes[..self.len]) }
    }

    fn end(&mut self) {
        (self.send_end)(self.text(), self.pieces);
        (self.len, self.pieces) = (0, 0);
    }

    /// Empties the full buffer.
    fn empty(&mut self) {
        match (self.send_piece)(self.text(), self.pieces) {
            0 => self.end(),
            pieces => (self.len, self.pieces) = (0, pieces),
        }
    }
}

impl<P: Fn(&str, u64) -> u64, F: Fn(&str, u64)> fmt::Write for PieceBuffer<P, F> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        loop {
            let (now, later) = rest.split_at(fitting(rest, BYTES - self.len));
            self.bytes[self.len..self.len + now.len()].copy_from_slice(now.as_bytes());
            self.len += now.len();
            if later.is_empty() {
                return Ok(());
            }
            // At most three bytes are left free, so each piece takes some of the text.
            self.empty();
            rest = later;
        }
    }
}

/// The length of the longest part of `text` that has at most `room` bytes and ends between characters.
fn fitting(text: &str, room: usize) -> usize {
    if text.len() <= room {
        return text.len();
    }
    let mut end = room;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn pieces_end_between_characters() {
        assert_eq!(fitting("abc", 3), 3);
        assert_eq!(fitting("abc", 2), 2);
        assert_eq!(fitting("a\u{20ac}b", 4), 4);
        for room in 1..4 {
            assert_eq!(fitting("a\u{20ac}b", room), 1);
        }
        assert_eq!(fitting("\u{1f4be}", 3), 0);
    }
}
