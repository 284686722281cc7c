//! Values in rows. Their notation determines their width:
//!
//! * `0x12`, `0x1234`, ... : by the number of digits; two digits count as 16 bits;
//! * `0f3f800000` and `0d3ff0000000000000`: 32 and 64 bits, as in PTX;
//! * `-1h`, `-1w`, `-1q`: whole numbers of 16, 32 and 64 bits;
//! * `1.5f`, `1.5d`, `-inff`, `nanf`: floats of 32 and 64 bits; as a result a NaN of 64
//!   bits stands for all of them, and `~1.5f` for what is not further away than 2^-20;
//! * `true`, `false`: predicates.

/// The width of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Pred,
    Bits(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) width: Width,
    pub(super) bits: u64,
    is_float: bool,
    is_near: bool,
}

impl Value {
    /// The value that `word` denotes, if it is one.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let value = |width, bits, is_float| {
            let (width, is_near) = (Width::Bits(width), false);
            Some(Self {
                width,
                bits,
                is_float,
                is_near,
            })
        };
        if let Some(rest) = word.strip_prefix('~') {
            let value = Self::parse(rest)?;
            return Some(Self {
                is_near: true,
                ..value
            });
        }
        if let Some(hex) = word.strip_prefix("0x") {
            let width = [16, 32, 64]
                .into_iter()
                .find(|w| hex.len() as u32 * 4 <= *w);
            return value(width?, u64::from_str_radix(hex, 16).ok()?, false);
        }
        if word.starts_with("0f") || word.starts_with("0d") {
            let bits = u64::from_str_radix(&word[2..], 16).ok()?;
            return value(word.len() as u32 * 4 - 8, bits, true);
        }
        if matches!(word, "true" | "false") {
            return Some(Self {
                width: Width::Pred,
                bits: u64::from(word == "true"),
                is_float: false,
                is_near: false,
            });
        }
        let (number, suffix) = word.split_at_checked(word.len().checked_sub(1)?)?;
        let whole = || number.parse::<i128>().ok().map(|number| number as u64);
        match suffix {
            "h" => value(16, whole()? & 0xffff, false),
            "w" => value(32, whole()? & 0xffff_ffff, false),
            "q" => value(64, whole()?, false),
            // The NaN that single precision makes.
            "f" if number == "nan" => value(32, 0x7fff_ffff, true),
            "f" => value(32, number.parse::<f32>().ok()?.to_bits().into(), true),
            "d" => value(64, number.parse::<f64>().ok()?.to_bits(), true),
            _ => None,
        }
    }

    /// The value in PTX's notation.
    pub(super) fn immediate(self) -> String {
        match (self.is_float, self.width) {
            (true, Width::Bits(32)) => format!("0f{:08x}", self.bits),
            (true, _) => format!("0d{:016x}", self.bits),
            _ => format!("0x{:x}", self.bits),
        }
    }

    /// Whether `bits` match this value.
    pub(super) fn is(self, bits: u64) -> bool {
        let double = |bits| match self.width {
            Width::Bits(32) => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        };
        let (wanted, found) = (double(self.bits), double(bits));
        if self.is_near {
            return (found - wanted).abs() <= wanted.abs() * f64::exp2(-20.0);
        }
        let any_nan = self.is_float && self.width == Width::Bits(64) && wanted.is_nan();
        bits == self.bits || any_nan && found.is_nan()
    }
}
