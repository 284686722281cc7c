//! PTX as a sequence of tokens, without comments. Invalid text becomes tokens too, for the reader
//! of the tokens to reject.

/// The tokens of a text, each a piece of it: a word with its leading dot and inner
/// ones (`.visible`, `__revoff_image`, `6.3`), a string with its quotes, or one
/// other byte.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    text: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    /// The tokens of `text`, from its beginning.
    #[must_use]
    pub fn of(text: &'a [u8]) -> Self {
        Self { text, rest: text }
    }

    /// The offset in the text after the last token.
    #[must_use]
    pub fn at(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    fn skip(&mut self, len: usize) -> &'a [u8] {
        let (head, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        head
    }

    /// Skips the text up to and including `end`.
    fn skip_past(&mut self, end: &[u8]) {
        let mut windows = self.rest.windows(end.len());
        let at = windows.position(|window| window == end);
        self.skip(at.map_or(self.rest.len(), |at| at + end.len()));
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            match self.rest {
                [b'/', b'/', ..] => self.skip_past(b"\n"),
                [b'/', b'*', ..] => {
                    self.skip(2);
                    self.skip_past(b"*/");
                }
                // Some producers end the text with a zero byte.
                [b, ..] if b.is_ascii_whitespace() || *b == 0 => {
                    self.skip(1);
                }
                _ => break,
            }
        }
        let first = *self.rest.first()?;
        let len = if first == b'"' {
            let end = self.rest[1..].iter().position(|&b| b == b'"');
            end.map_or(self.rest.len(), |end| end + 2)
        } else {
            self.rest
                .iter()
                .take_while(|&&b| is_in_word(b))
                .count()
                .max(1)
        };
        Some(self.skip(len))
    }
}

fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}
