//! Atomic operations.

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomicOp {
    Swap,
    /// The data are the new value and the expected one; those of LDS instructions of gfx9 are the other
    /// way round.
    CompareSwap,
    Add,
    Sub,
    SubReversed,
    /// It subtracts, but not below 0.
    SubClamp,
    /// It subtracts if the result is not negative.
    CondSub,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    Increment,
    Decrement,
    /// It clears the bits of the first datum, and sets those of the second.
    MaskOr,
    AddFloat,
    MinFloat,
    MaxFloat,
}

impl AtomicOp {
    /// The operation of a name such as `add_u32`, and its bytes.
    pub(super) fn of(name: &str) -> Option<(Self, u32)> {
        let (name, kind) = name.rsplit_once('_')?;
        let (letter, bits) = kind.split_at_checked(1)?;
        let bytes = match bits {
            "32" => 4,
            "64" => 8,
            _ => return None,
        };
        let op = match (name, letter) {
            ("swap" | "storexchg", "b") => Self::Swap,
            ("cmpswap" | "cmpstore" | "cmpst", "b") => Self::CompareSwap,
            ("add", "u") => Self::Add,
            ("sub", "u") => Self::Sub,
            ("rsub", "u") => Self::SubReversed,
            ("sub_clamp" | "csub", "u") => Self::SubClamp,
            ("cond_sub", "u") => Self::CondSub,
            ("min", "i") => Self::MinSigned,
            ("min", "u") => Self::MinUnsigned,
            ("max", "i") => Self::MaxSigned,
            ("max", "u") => Self::MaxUnsigned,
            ("and", "b") => Self::And,
            ("or", "b") => Self::Or,
            ("xor", "b") => Self::Xor,
            ("inc", "u") => Self::Increment,
            ("dec", "u") => Self::Decrement,
            ("mskor", "b") => Self::MaskOr,
            ("add", "f") => Self::AddFloat,
            ("min" | "min_num", "f") => Self::MinFloat,
            ("max" | "max_num", "f") => Self::MaxFloat,
            _ => return None,
        };
        Some((op, bytes))
    }

    /// The number of data.
    pub(super) fn data(self) -> usize {
        match self {
            Self::CompareSwap | Self::MaskOr => 2,
            _ => 1,
        }
    }

    /// The new value in memory, of 4 or 8 bytes.
    pub(super) fn apply(self, bytes: u32, old: u64, [data, second]: [u64; 2]) -> u64 {
        match bytes {
            4 => self
                .apply32(old as u32, [data as u32, second as u32])
                .into(),
            _ => self.apply64(old, [data, second]),
        }
    }
}

macro_rules! apply {
    ($name:ident, $U:ty, $F:ty) => {
        fn $name(self, old: $U, [data, second]: [$U; 2]) -> $U {
            let signed = (old.cast_signed(), data.cast_signed());
            let floats = (<$F>::from_bits(old), <$F>::from_bits(data));
            match self {
                Self::Swap => data,
                Self::CompareSwap if old == second => data,
                Self::CompareSwap => old,
                Self::Add => old.wrapping_add(data),
                Self::Sub => old.wrapping_sub(data),
                Self::SubReversed => data.wrapping_sub(old),
                Self::SubClamp => old.saturating_sub(data),
                Self::CondSub if old >= data => old - data,
                Self::CondSub => old,
                Self::MinSigned => signed.0.min(signed.1).cast_unsigned(),
                Self::MinUnsigned => old.min(data),
                Self::MaxSigned => signed.0.max(signed.1).cast_unsigned(),
                Self::MaxUnsigned => old.max(data),
                Self::And => old & data,
                Self::Or => old | data,
                Self::Xor => old ^ data,
                Self::Increment if old >= data => 0,
                Self::Increment => old + 1,
                Self::Decrement if old == 0 || old > data => data,
                Self::Decrement => old - 1,
                Self::MaskOr => old & !data | second,
                Self::AddFloat => (floats.0 + floats.1).to_bits(),
                Self::MinFloat if floats.1 < floats.0 || floats.0.is_nan() => data,
                Self::MaxFloat if floats.1 > floats.0 || floats.0.is_nan() => data,
                Self::MinFloat | Self::MaxFloat => old,
            }
        }
    };
}

impl AtomicOp {
    apply!(apply32, u32, f32);
    apply!(apply64, u64, f64);
}
