//! The texts of device threads that arrive in pieces.

use std::collections::HashMap;
use std::sync::Mutex;

use super::lock;

/// Maximum bytes of all pieces. A device is not trusted with more.
const LIMIT: usize = 1 << 20;

/// Bytes that count for each text besides its own.
const OVERHEAD: usize = 64;

/// The pieces of unfinished texts, by number.
#[derive(Debug, Default)]
pub(super) struct Pieces(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of the last new text.
    last: u64,
    /// Bytes of all texts, with their overhead.
    bytes: usize,
    texts: HashMap<u64, Unfinished>,
}

#[derive(Debug)]
struct Unfinished {
    /// Key of the launch; 0 if unknown.
    launch: u32,
    text: Vec<u8>,
}

impl Pieces {
    /// Adds a piece to the text with this number, or to a new one if there is none. Returns the text's
    /// number; 0 if there is no room.
    pub(super) fn add(&self, number: u64, launch: u32, piece: &[u8]) -> u64 {
        let mut state = lock(&self.0);
        let is_new = !state.texts.contains_key(&number);
        let bytes = piece.len() + if is_new { OVERHEAD } else { 0 };
        if bytes > LIMIT - state.bytes {
            return 0;
        }
        state.bytes += bytes;
        let number = if is_new {
            // 2^64 texts take longer than any device lives.
            state.last += 1;
            state.last
        } else {
            number
        };
        let unfinished = state.texts.entry(number).or_insert_with(|| Unfinished {
            launch,
            text: Vec::new(),
        });
        unfinished.text.extend_from_slice(piece);
        number
    }

    /// Removes the text with this number. It is empty if there is none.
    pub(super) fn take(&self, number: u64) -> Vec<u8> {
        let mut state = lock(&self.0);
        let Some(Unfinished { text, .. }) = state.texts.remove(&number) else {
            return Vec::new();
        };
        state.bytes -= text.len() + OVERHEAD;
        text
    }

    /// Removes the texts of the launch with this key, whose threads have ended.
    pub(super) fn take_launch(&self, key: u32) -> Vec<Vec<u8>> {
        let mut state = lock(&self.0);
        let ended: Vec<_> = state
            .texts
            .extract_if(|_, unfinished| unfinished.launch == key)
            .map(|(_, unfinished)| unfinished.text)
            .collect();
        let bytes = ended.iter().map(|text| text.len() + OVERHEAD);
        state.bytes -= bytes.sum::<usize>();
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, OVERHEAD, Pieces};

    #[test]
    fn pieces_of_one_number_are_one_text() {
        let pieces = Pieces::default();
        let one = pieces.add(0, 7, b"a");
        let other = pieces.add(0, 8, b"b");
        assert_ne!(one, other);
        assert_eq!(pieces.add(one, 7, b"c"), one);
        // A number that is unknown begins a text, and does not become its number.
        let third = pieces.add(1000, 7, b"d");
        assert!(third != 1000 && third != one);
        assert_eq!(pieces.take(one), b"ac");
        assert_eq!(pieces.take(one), b"");
        assert_eq!(pieces.take_launch(7), [b"d"]);
        assert_eq!(pieces.take(other), b"b");
        assert_eq!(pieces.0.lock().unwrap().bytes, 0);
    }

    #[test]
    fn pieces_are_limited_together() {
        let pieces = Pieces::default();
        let half = vec![b'x'; LIMIT / 2 - OVERHEAD];
        let one = pieces.add(0, 0, &half);
        let other = pieces.add(0, 0, &half);
        assert!(one != 0 && other != 0);
        assert_eq!(pieces.add(one, 0, b"x"), 0);
        assert_eq!(pieces.add(0, 0, b""), 0, "each text costs something");
        assert_eq!(pieces.take(other).len(), half.len());
        assert_eq!(pieces.add(one, 0, b"x"), one);
    }
}
