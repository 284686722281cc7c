//! CheckedMemory, numbers and marks. Source: the PTX ISA, "Syntax".

use super::error::TextError;

/// A token and the line it is on, from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) line: u32,
    pub(crate) kind: TokenKind<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind<'a> {
    /// A name, an opcode with its modifiers, or a directive: dots are part of it.
    Word(&'a str),
    /// An integer, its sign apart, in 64 bits.
    Int(u64),
    /// The bits of a float of single precision (`0f3f800000`).
    Single(u32),
    /// The bits of a float of double precision (`0d3ff0000000000000`, `1.0`).
    Double(u64),
    /// The text between quotes.
    Text(&'a str),
    /// Any other character.
    Mark(char),
    End,
}

/// Splits a text into tokens.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

fn is_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

fn is_inside(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) -> Result<(), TextError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                // GCC ends objects with NUL.
                (b' ' | b'\t' | b'\r' | 0x0c, _) => self.at += 1,
                (0, _) if self.at < self.text.len() => self.at += 1,
                (b'/', b'/') => drop(self.skip_line()),
                (b'/', b'*') => {
                    let rest = &self.text[self.at + 2..];
                    let end = rest
                        .find("*/")
                        .ok_or(TextError::Rule("a comment without its end"))?;
                    self.line += rest[..end].matches('\n').count() as u32;
                    self.at += end + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Skips the rest of the line, for `.loc` and comments, and returns it.
    pub(crate) fn skip_line(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.at += line.len();
        line
    }

    fn word(&mut self) -> &'a str {
        let start = self.at;
        loop {
            // A point after an architecture begins a directive, see `number`.
            if self.peek(0) == b'.' && self.text[start..self.at].starts_with("sm_") {
                return &self.text[start..self.at];
            }
            if is_inside(self.peek(0)) {
                self.at += 1;
            } else if self.peek(0) == b':' && self.peek(1) == b':' && is_inside(self.peek(2)) {
                // A modifier of two parts: `.shared::cta`, `.L2::128B`.
                self.at += 2;
            } else {
                return &self.text[start..self.at];
            }
        }
    }

    fn number(&mut self) -> Result<TokenKind<'a>, TextError> {
        let start = self.at;
        // A second point begins a directive: GCC writes `.version 6.0.target sm_35.file 1`.
        while self.peek(0).is_ascii_alphanumeric()
            || (self.peek(0) == b'.' && !self.text[start..self.at].contains('.'))
            || (matches!(self.peek(0), b'+' | b'-') && self.is_exponent(start))
        {
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        let wrong = || TextError::name(text, "is no number");
        let lower = text.to_ascii_lowercase();
        let radix = |digits: &str, radix| {
            u64::from_str_radix(digits.trim_end_matches('u'), radix).map_err(|_| wrong())
        };
        if let Some(hex) = lower.strip_prefix("0x") {
            return Ok(TokenKind::Int(radix(hex, 16)?));
        }
        if let Some(bits) = lower.strip_prefix("0f") {
            let bits = u32::from_str_radix(bits, 16).map_err(|_| wrong())?;
            return Ok(TokenKind::Single(bits));
        }
        if let Some(bits) = lower.strip_prefix("0d") {
            let bits = u64::from_str_radix(bits, 16).map_err(|_| wrong())?;
            return Ok(TokenKind::Double(bits));
        }
        if let Some(binary) = lower.strip_prefix("0b") {
            return Ok(TokenKind::Int(radix(binary, 2)?));
        }
        if lower.contains(['.', 'e']) {
            let value: f64 = lower.parse().map_err(|_| wrong())?;
            return Ok(TokenKind::Double(value.to_bits()));
        }
        match lower.strip_prefix('0') {
            Some(octal) if !octal.trim_end_matches('u').is_empty() => {
                Ok(TokenKind::Int(radix(octal, 8)?))
            }
            _ => Ok(TokenKind::Int(radix(&lower, 10)?)),
        }
    }

    /// Whether the sign at hand belongs to the exponent of a decimal float.
    fn is_exponent(&self, start: usize) -> bool {
        let so_far = &self.bytes()[start..self.at];
        so_far.contains(&b'.') && matches!(so_far.last(), Some(b'e' | b'E'))
    }

    /// The next token.
    ///
    /// # Errors
    /// There is no valid token; the message lacks the line, which [`line`](Self::line) has.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, TextError> {
        self.skip_blanks()?;
        let line = self.line;
        let Some(&byte) = self.bytes().get(self.at) else {
            let kind = TokenKind::End;
            return Ok(Token { line, kind });
        };
        let kind = if is_start(byte) {
            TokenKind::Word(self.word())
        } else if byte.is_ascii_digit() {
            self.number()?
        } else if byte == b'"' {
            let rest = &self.text[self.at + 1..];
            let end = rest
                .find('"')
                .ok_or(TextError::Rule("a text without its closing quote"))?;
            self.at += end + 2;
            self.line += rest[..end].matches('\n').count() as u32;
            TokenKind::Text(&rest[..end])
        } else if byte.is_ascii() {
            self.at += 1;
            TokenKind::Mark(byte as char)
        } else {
            return Err(TextError::Rule("a character beyond ASCII"));
        };
        Ok(Token { line, kind })
    }

    pub(crate) fn line(&self) -> u32 {
        self.line
    }
}
