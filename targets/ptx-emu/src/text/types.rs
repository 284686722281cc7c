//! The fundamental types. Source: the PTX ISA, "Fundamental Types" and "Alternate
//! Floating-Point Data Formats".

/// A type of registers, variables and instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    U16x2,
    S8,
    S16,
    S32,
    S64,
    S16x2,
    E4m3x2,
    E5m2x2,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Pred,
}

impl Type {
    /// The type that a modifier without its dot names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "u16x2" => Self::U16x2,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "s16x2" => Self::S16x2,
            "e4m3x2" => Self::E4m3x2,
            "e5m2x2" => Self::E5m2x2,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::Bf16,
            "bf16x2" => Self::Bf16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "pred" => Self::Pred,
            _ => return None,
        })
    }

    /// Its size in memory.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Self::B8 | Self::U8 | Self::S8 | Self::Pred => 1,
            Self::B16
            | Self::U16
            | Self::S16
            | Self::E4m3x2
            | Self::E5m2x2
            | Self::F16
            | Self::Bf16 => 2,
            Self::B32
            | Self::U32
            | Self::S32
            | Self::U16x2
            | Self::S16x2
            | Self::F32
            | Self::F16x2
            | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }

    /// Its width in registers.
    pub(crate) const fn bits(self) -> u32 {
        self.bytes() * 8
    }

    pub(crate) const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16 | Self::F16x2 | Self::Bf16 | Self::Bf16x2 | Self::F32 | Self::F64
        )
    }

    /// The type of each half of a pair of floats, or the type itself; whether it is a pair.
    pub(crate) const fn halves(self) -> (Self, bool) {
        match self {
            Self::F16x2 => (Self::F16, true),
            Self::Bf16x2 => (Self::Bf16, true),
            _ => (self, false),
        }
    }

    /// Pairs that only instructions have as their type; registers hold them as bits.
    pub(crate) const fn is_of_instructions(self) -> bool {
        matches!(self, Self::U16x2 | Self::S16x2) || self.is_eight()
    }

    /// Pairs of floats of 8 bits, which are converted and nothing else.
    pub(crate) const fn is_eight(self) -> bool {
        matches!(self, Self::E4m3x2 | Self::E5m2x2)
    }

    /// Single integers and bits, as opposed to floats, predicates and pairs.
    pub(crate) const fn is_int(self) -> bool {
        !self.is_float() && !self.is_of_instructions() && !matches!(self, Self::Pred)
    }
}
