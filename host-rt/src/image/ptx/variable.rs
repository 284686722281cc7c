//! Variables of PTX and their initial bytes.

use crate::image::contents::MAX_VALUE;

/// A variable.
#[derive(Debug, PartialEq)]
pub(super) struct Variable<'a> {
    pub(super) name: &'a str,
    /// Its size in bytes; 0 if the text does not have it.
    pub(super) size: u64,
    /// Its initial bytes, if it is small and they are plain numbers.
    pub(super) value: Option<Vec<u8>>,
}

impl<'a> Variable<'a> {
    /// Reads the text after the state space: `.align 8 .b8 NAME[16] = {1, 2}`.
    pub(super) fn read(tokens: &[&'a [u8]]) -> Option<Self> {
        let mut width = 0u64;
        let mut lanes = 1u64;
        let mut at = 0;
        // The name is the first word without a dot that is not an operand.
        let name = loop {
            match *tokens.get(at)? {
                b".align" => at += 1,
                b".v2" => lanes = 2,
                b".v4" => lanes = 4,
                b"(" => at += tokens[at..].iter().position(|token| *token == b")")?,
                token if token.starts_with(b".") => width = type_width(token).unwrap_or(width),
                token => break name(token)?,
            }
            at += 1;
        };
        let rest = &tokens[at + 1..];
        let equals = rest.iter().position(|token| *token == b"=");
        let (shape, initial) = rest.split_at(equals.unwrap_or(rest.len()));
        let lengths = shape.iter().filter(|token| !matches!(**token, b"[" | b"]"));
        let size = lengths
            .map(|token| number(token))
            .try_fold(width * lanes, |size, length| size.checked_mul(length?))
            .unwrap_or(0);
        // `[]`: the length is that of the initialiser.
        let is_counted = shape.windows(2).any(|pair| pair == [b"[", b"]"]);
        let size = if is_counted { 0 } else { size };
        let value = value(initial.get(1..).unwrap_or_default(), width, size);
        Some(Self { name, size, value })
    }
}

/// The size of a fundamental type: 4 for `.u32`.
fn type_width(token: &[u8]) -> Option<u64> {
    let bits = match token {
        [b'.', b'b' | b'u' | b's' | b'f', bits @ ..] => number(bits)?,
        _ => return None,
    };
    matches!(bits, 8 | 16 | 32 | 64 | 128).then_some(bits / 8)
}

/// The bytes of an initialiser; missing ones are zero. `None` if it contains anything but numbers
/// (addresses are known only after the driver has linked).
fn value(initial: &[&[u8]], width: u64, size: u64) -> Option<Vec<u8>> {
    if !(1..=MAX_VALUE).contains(&size) {
        return None;
    }
    let mut bytes = Vec::new();
    let mut is_negative = false;
    for token in initial {
        match *token {
            b"{" | b"}" | b"," => {}
            b"-" => is_negative = true,
            token => {
                let number = number(token)?;
                let number = if is_negative {
                    number.wrapping_neg()
                } else {
                    number
                };
                is_negative = false;
                bytes.extend_from_slice(number.to_le_bytes().get(..width as usize)?);
            }
        }
    }
    (bytes.len() as u64 <= size).then(|| {
        bytes.resize(size as usize, 0);
        bytes
    })
}

/// An integer in PTX's syntax: decimal, `0x`, `0b` or octal, with an optional `U`.
fn number(token: &[u8]) -> Option<u64> {
    let text = str::from_utf8(token).ok()?;
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    let is_plain = digits.bytes().all(|b| b.is_ascii_alphanumeric());
    is_plain.then(|| u64::from_str_radix(digits, radix).ok())?
}

/// The token as a name.
fn name(token: &[u8]) -> Option<&str> {
    let first = *token.first()?;
    let is_name = first.is_ascii_alphabetic() || matches!(first, b'_' | b'$' | b'%');
    is_name.then(|| str::from_utf8(token).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::ptx::Tokens;

    #[track_caller]
    fn is(text: &str, size: u64, value: Option<&[u8]>) {
        let tokens: Vec<_> = Tokens::of(text.as_bytes()).collect();
        let expected = Variable {
            name: "x",
            size,
            value: value.map(<[u8]>::to_vec),
        };
        assert_eq!(Variable::read(&tokens), Some(expected), "{text}");
    }

    #[test]
    fn numbers_in_every_form() {
        is(
            ".align 8 .b8 x[4] = {136, 0x77, 1, 255}",
            4,
            Some(&[136, 0x77, 1, 255]),
        );
        is(".align 8 .b8 x[8]", 8, Some(&[0; 8]));
        is(".b8 x[4] = {1, 2}", 4, Some(&[1, 2, 0, 0]));
        is(
            ".u64 x = 0x1122334455667788",
            8,
            Some(&[0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]),
        );
        is(".b64 x = 18446744073709551615U", 8, Some(&[255; 8]));
        is(
            ".b64 x[2] = {1, 2}",
            16,
            Some(&[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]),
        );
        is(".s32 x = -2", 4, Some(&[254, 255, 255, 255]));
        is(".u16 x[2] = {010, 0b11}", 4, Some(&[8, 0, 3, 0]));
        is(
            ".align 8 .v2 .u32 x = {1, 2}",
            8,
            Some(&[1, 0, 0, 0, 2, 0, 0, 0]),
        );
        is(
            ".attribute(.managed) .align 4 .b32 x = 1",
            4,
            Some(&[1, 0, 0, 0]),
        );
        is(".b8 x[2][2] = {{1, 2}, {3}}", 4, Some(&[1, 2, 3, 0]));
    }

    #[test]
    fn what_is_not_plain_numbers_is_unknown() {
        is(".u64 x = other", 8, None);
        is(".u64 x[2] = {other, 0}", 16, None);
        is(".u64 x = generic(other)", 8, None);
        is(".u64 x[2] = {other+8, 0}", 16, None);
        is(".f32 x = 0f3F800000", 4, None);
        is(".b8 x[8] = {0xFF(other), 0xFF00(other)}", 8, None);
        is(".b8 x[2] = {1, 2, 3}", 2, None);
        is(".b8 x[] = {1, 2, 3}", 0, None);
        is(".b8 x[65]", 65, None);
        is(".b8 x[n] = {1}", 0, None);
        is(".texref x", 0, None);
        is(".b128 x[1] = {1}", 16, None);
    }
}
