//! Functions that CUDA's driver provides to device code. Source: the CUDA toolkit's "PTX
//! Writer's Guide to Interoperability", chapter "System Calls".

use device_arena::AccessKind;

use super::launch::Launch;
use super::private_memory::LOCAL_BYTES;
use super::space::{Access, Spaces};
use crate::code::op::{Call, Semantics, Slot, StateSpace, System};
use crate::error::FaultKind;

/// The longest string that is read from a device.
const MAX_STRING: usize = 64 << 10;

/// The widest item of a format, Rust's own limit.
const MAX_WIDTH: usize = u16::MAX as usize;

/// A lane calls `what`; its frame begins at `base`.
pub(super) fn call(
    what: System,
    call: &Call,
    lane: usize,
    base: u32,
    spaces: &Spaces<'_>,
    launch: &Launch,
) -> Result<(), FaultKind> {
    let mut thread = Thread { lane, base, spaces };
    let mut argument = |at: usize| thread.local(call.arguments[at]);
    match what {
        System::Vprintf => {
            let (format, arguments) = (argument(0)?, argument(1)?);
            let format = thread.text(format)?;
            let (text, items) = thread.format(&format, arguments)?;
            (launch.output)(&text);
            thread.give(call.results[0], items)
        }
        System::Malloc => {
            let bytes = argument(0)?;
            // Null without room, as in C.
            let address = launch.memory.malloc(bytes);
            thread.give(call.results[0], address)
        }
        System::Free => match argument(0)? {
            0 => Ok(()),
            address if launch.memory.free_of_heap(address) => Ok(()),
            address => Err(FaultKind::BadFree { address }),
        },
        System::AssertFail => {
            let (message, file, line) = (argument(0)?, argument(1)?, argument(2)?);
            let function = argument(3)?;
            let mut text = |address| -> Result<String, FaultKind> {
                let bytes = thread.text(address)?;
                // Control characters stay away from terminals.
                let shown = |c: char| -> String {
                    if c.is_control() {
                        c.escape_default().collect()
                    } else {
                        c.into()
                    }
                };
                Ok(String::from_utf8_lossy(&bytes).chars().map(shown).collect())
            };
            Err(FaultKind::Assertion {
                file: text(file)?,
                line,
                function: text(function)?,
                message: text(message)?,
            })
        }
    }
}

/// Memory of one thread.
struct Thread<'t, 's> {
    lane: usize,
    base: u32,
    spaces: &'t Spaces<'s>,
}

impl Thread<'_, '_> {
    fn load(&mut self, space: StateSpace, address: u64, bytes: u32) -> Result<u64, FaultKind> {
        let access = Access {
            kind: AccessKind::Load,
            bytes,
        };
        let place = self.spaces.find(self.lane, space, address, access)?;
        Ok(place.load(bytes, Semantics::Relaxed))
    }

    fn local(&mut self, slot: Slot) -> Result<u64, FaultKind> {
        self.load(
            StateSpace::Local,
            u64::from(self.base + slot.offset),
            slot.bytes,
        )
    }

    fn give(&mut self, slot: Slot, value: u64) -> Result<(), FaultKind> {
        let access = Access {
            kind: AccessKind::Store,
            bytes: slot.bytes,
        };
        let address = u64::from(self.base + slot.offset);
        debug_assert!(address < u64::from(LOCAL_BYTES), "inside the frame");
        let place = self
            .spaces
            .find(self.lane, StateSpace::Local, address, access)?;
        place.store(slot.bytes, value, Semantics::Relaxed);
        Ok(())
    }

    /// Bytes up to a NUL.
    fn text(&mut self, address: u64) -> Result<Vec<u8>, FaultKind> {
        let mut text = Vec::new();
        while text.len() < MAX_STRING {
            let byte = self.load(StateSpace::Generic, address + text.len() as u64, 1)? as u8;
            if byte == 0 {
                break;
            }
            text.push(byte);
        }
        Ok(text)
    }

    /// Formats as `printf`. Arguments are consecutive, aligned to their sizes, floats as doubles. Also
    /// returns the number of items.
    fn format(&mut self, format: &[u8], arguments: u64) -> Result<(String, u64), FaultKind> {
        let mut text = Vec::new();
        let mut items = 0;
        let mut offset = 0u64;
        let mut rest = format.iter().copied().peekable();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                text.push(byte);
                continue;
            }
            let mut item = Item::default();
            let conversion = loop {
                match rest.next() {
                    None => break None,
                    Some(b'-') => item.left = true,
                    Some(b'+') => item.plus = true,
                    Some(b' ') => item.blank = true,
                    Some(b'#') => item.alternative = true,
                    Some(b'0') if item.width.is_none() && item.precision.is_none() => {
                        item.zeros = true;
                    }
                    Some(b'.') => item.precision = Some(0),
                    Some(digit @ b'0'..=b'9') => item.digit(usize::from(digit - b'0')),
                    Some(b'*') => {
                        let value = self.argument(arguments, &mut offset, 4)? as u32 as i32;
                        item.left |= value < 0 && item.precision.is_none();
                        item.number(value.unsigned_abs() as usize);
                    }
                    Some(b'l' | b'j' | b'z' | b't') => item.long = true,
                    Some(b'h') => item.shorts += 1,
                    Some(other) => break Some(other),
                }
            };
            let size = if item.long { 8 } else { 4 };
            items += u64::from(conversion.is_some_and(|conversion| conversion != b'%'));
            let formatted = match conversion {
                None => break,
                Some(b'%') => "%".to_owned(),
                Some(b'd' | b'i') => {
                    let value = self.argument(arguments, &mut offset, size)?;
                    item.signed(item.narrow(value))
                }
                Some(kind @ (b'u' | b'x' | b'X' | b'o')) => {
                    let value = self.argument(arguments, &mut offset, size)?;
                    item.unsigned(kind, item.narrow(value) as u64)
                }
                Some(b'c') => {
                    let value = self.argument(arguments, &mut offset, 4)?;
                    item.pad(char::from(value as u8).to_string())
                }
                Some(b'p') => {
                    let value = self.argument(arguments, &mut offset, 8)?;
                    item.pad(format!("{value:#x}"))
                }
                Some(b's') => {
                    let address = self.argument(arguments, &mut offset, 8)?;
                    let mut bytes = self.text(address)?;
                    bytes.truncate(item.precision.unwrap_or(usize::MAX));
                    item.pad(String::from_utf8_lossy(&bytes).into_owned())
                }
                Some(kind @ (b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A')) => {
                    let bits = self.argument(arguments, &mut offset, 8)?;
                    item.float(kind, f64::from_bits(bits))
                }
                // Unknown items are printed verbatim.
                Some(other) => format!("%{}", char::from(other)),
            };
            text.extend_from_slice(formatted.as_bytes());
        }
        Ok((String::from_utf8_lossy(&text).into_owned(), items))
    }

    fn argument(&mut self, from: u64, offset: &mut u64, bytes: u32) -> Result<u64, FaultKind> {
        *offset = offset.next_multiple_of(u64::from(bytes));
        let value = self.load(StateSpace::Generic, from + *offset, bytes)?;
        *offset += u64::from(bytes);
        Ok(value)
    }
}

/// One item of a format. Source: ISO C, "The fprintf function".
#[derive(Clone, Copy, Debug, Default)]
struct Item {
    left: bool,
    plus: bool,
    blank: bool,
    alternative: bool,
    zeros: bool,
    width: Option<usize>,
    precision: Option<usize>,
    long: bool,
    shorts: u32,
}

impl Item {
    fn digit(&mut self, digit: usize) {
        let number = match self.precision {
            Some(precision) => precision,
            None => self.width.unwrap_or(0),
        };
        self.number(number.saturating_mul(10).saturating_add(digit));
    }

    fn number(&mut self, number: usize) {
        let number = number.min(MAX_WIDTH);
        match &mut self.precision {
            Some(precision) => *precision = number,
            None => self.width = Some(number),
        }
    }

    /// The number in the item's width, with its sign.
    fn narrow(&self, value: u64) -> i128 {
        match (self.long, self.shorts) {
            (true, _) => i128::from(value as i64),
            (_, 0) => i128::from(value as u32 as i32),
            (_, 1) => i128::from(value as u16 as i16),
            _ => i128::from(value as u8 as i8),
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.blank) {
            (true, _, _) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    fn signed(&self, value: i128) -> String {
        self.whole(self.sign(value < 0), value.unsigned_abs().to_string())
    }

    fn unsigned(&self, kind: u8, value: u64) -> String {
        let value = match (self.long, self.shorts) {
            (true, _) => value,
            (_, 0) => value & 0xffff_ffff,
            (_, 1) => value & 0xffff,
            _ => value & 0xff,
        };
        let (prefix, digits) = match kind {
            b'x' => ("0x", format!("{value:x}")),
            b'X' => ("0X", format!("{value:X}")),
            b'o' => ("0", format!("{value:o}")),
            _ => ("", value.to_string()),
        };
        let prefix = if self.alternative && value != 0 {
            prefix
        } else {
            ""
        };
        self.whole(prefix, digits)
    }

    fn whole(&self, prefix: &str, digits: String) -> String {
        let least = self.precision.unwrap_or(1);
        let digits = format!("{digits:0>least$}");
        if self.zeros && !self.left && self.precision.is_none() {
            let width = self.width.unwrap_or(0).saturating_sub(prefix.len());
            return format!("{prefix}{digits:0>width$}");
        }
        self.pad(format!("{prefix}{digits}"))
    }

    fn float(&self, kind: u8, value: f64) -> String {
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let precision = self.precision.unwrap_or(6);
        let digits = if !magnitude.is_finite() {
            (if magnitude.is_nan() { "nan" } else { "inf" }).to_owned()
        } else {
            match kind.to_ascii_lowercase() {
                b'f' => format!("{magnitude:.precision$}"),
                b'e' => scientific(magnitude, precision),
                b'g' => self.general(magnitude, precision.max(1)),
                _ => hexadecimal(magnitude),
            }
        };
        let digits = if kind.is_ascii_uppercase() {
            digits.to_uppercase()
        } else {
            digits
        };
        if self.zeros && !self.left && magnitude.is_finite() {
            let width = self.width.unwrap_or(0).saturating_sub(sign.len());
            return format!("{sign}{digits:0>width$}");
        }
        self.pad(format!("{sign}{digits}"))
    }

    /// `%g`: whichever of the two is shorter, by the exponent.
    fn general(&self, value: f64, precision: usize) -> String {
        let by_exponent = scientific(value, precision - 1);
        let exponent: i64 = by_exponent
            .rsplit('e')
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let trim = |text: &str| {
            if self.alternative || !text.contains('.') {
                return text.to_owned();
            }
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        if exponent < -4 || exponent >= precision as i64 {
            let (mantissa, exponent) = by_exponent.split_once('e').unwrap_or((&by_exponent, "+00"));
            return format!("{}e{exponent}", trim(mantissa));
        }
        let digits = (precision as i64 - 1 - exponent) as usize;
        trim(&format!("{value:.digits$}"))
    }

    fn pad(&self, text: String) -> String {
        let width = self.width.unwrap_or(0);
        if self.left {
            format!("{text:<width$}")
        } else {
            format!("{text:>width$}")
        }
    }
}

/// An exponent in C's format: at least two digits of exponent, with its sign.
fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// `%a`, exactly.
fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let (mut exponent, mantissa) = ((bits >> 52) as i32 & 0x7ff, bits & ((1 << 52) - 1));
    let lead = if exponent == 0 { 0 } else { 1 };
    if exponent == 0 && mantissa == 0 {
        return "0x0p+0".to_owned();
    }
    exponent = exponent.max(1) - 1023;
    let digits = format!("{mantissa:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_printed_as_c_prints_them() {
        let item = Item::default();
        assert_eq!(item.float(b'f', 1.5), "1.500000");
        assert_eq!(item.float(b'e', 12345.678), "1.234568e+04");
        assert_eq!(item.float(b'g', 0.0001), "0.0001");
        assert_eq!(item.float(b'g', 0.00001), "1e-05");
        assert_eq!(item.float(b'g', 100_000.0), "100000");
        assert_eq!(item.float(b'g', 1_000_000.0), "1e+06");
        assert_eq!(item.float(b'a', 1.0), "0x1p+0");
        assert_eq!(item.float(b'a', -0.1), "-0x1.999999999999ap-4");
        assert_eq!(item.float(b'F', f64::INFINITY), "INF");
    }

    #[test]
    fn integers_are_padded_as_c_pads_them() {
        let item = Item {
            width: Some(6),
            zeros: true,
            ..Item::default()
        };
        assert_eq!(item.signed(-42), "-00042");
        let item = Item {
            width: Some(6),
            left: true,
            ..Item::default()
        };
        assert_eq!(item.signed(7), "7     ");
        let item = Item {
            precision: Some(4),
            alternative: true,
            ..Item::default()
        };
        assert_eq!(item.unsigned(b'x', 0xab), "0x00ab");
    }
}
