//! A row of a table, and the macro that reads tables.

use crate::arch::{Arch, Generation};

/// The kind of an operand: its size, which modifiers it takes, and how constants look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A 16-bit integer.
    I16,
    /// 16 bits without a sign, whose constants are written as floats.
    Plain16,
    /// A 16-bit float.
    F16,
    /// A 16-bit bfloat.
    BF16,
    /// Two 16-bit floats.
    H2,
    /// Two 16-bit bfloats.
    BF2,
    /// 32 bits.
    B32,
    /// A 32-bit float.
    F32,
    /// 16 bits in a vector register.
    V16,
    /// 32 bits in a vector register.
    V32,
    /// 128 bits in vector registers.
    V128,
    /// 32 bits in a scalar register.
    S32,
    /// A float in a scalar register.
    SF32,
    /// 64 bits.
    B64,
    /// A 64-bit float.
    F64,
    /// 64 bits in scalar registers.
    S64,
    /// 96 bits.
    B96,
    /// 128 bits.
    B128,
    /// 256 bits.
    B256,
    /// 512 bits.
    B512,
    /// 1024 bits.
    B1024,
    /// A bit for each lane, in scalar registers.
    Mask,
    /// The address of an access to LDS.
    Addr,
    /// A constant that follows the instruction, part of the operation.
    K,
    /// A number that follows the instruction.
    Literal,
    /// The offset of a scalar access.
    Offset,
    /// The offset and length of a scalar prefetch.
    Prefetch,
    /// A number.
    Imm,
    /// A number, written in decimal.
    Decimal,
    /// A number, written in hexadecimal.
    Hex,
    /// The distance of a branch, in words from the next instruction.
    Branch,
    /// Counters to wait for.
    Wait,
    /// A message.
    Message,
    /// Dependencies for the scheduler.
    Delay,
    /// Dependency counters to wait for.
    Depctr,
    /// Operands that use the index register.
    GprIndex,
    /// A field of a hardware register.
    HwReg,
}

impl Kind {
    /// The number of 32-bit registers; a [mask](Self::Mask)'s depends on the wave.
    #[must_use]
    pub const fn registers(self) -> u8 {
        match self {
            Self::B64 | Self::F64 | Self::S64 => 2,
            Self::B96 => 3,
            Self::B128 | Self::V128 => 4,
            Self::B256 => 8,
            Self::B512 => 16,
            Self::B1024 => 32,
            _ => 1,
        }
    }

    /// The kind of half as many registers, if they are several.
    #[must_use]
    pub(crate) const fn halved(self) -> Self {
        match self {
            Self::B64 => Self::B32,
            Self::B128 => Self::B64,
            Self::B256 => Self::B128,
            kind => kind,
        }
    }

    /// The kind of twice as many registers.
    #[must_use]
    pub(crate) const fn doubled(self) -> Self {
        match self {
            Self::B32 => Self::B64,
            Self::B64 => Self::B128,
            Self::B128 => Self::B256,
            kind => kind,
        }
    }

    /// Whether the operand has 16 bits.
    #[must_use]
    pub const fn is_half(self) -> bool {
        matches!(
            self,
            Self::I16 | Self::Plain16 | Self::F16 | Self::BF16 | Self::V16
        )
    }

    /// Whether it may be negated, and its sign removed.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16 | Self::BF16 | Self::F32 | Self::SF32 | Self::F64
        )
    }
}

/// A property of an operation.
#[expect(non_camel_case_types, reason = "as they are written in the tables")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flag {
    /// Allows clamping of the result.
    clamp,
    /// Allows multiplication of the result by 2, 4 or 1/2.
    omod,
    /// Selects halves of operands.
    op_sel,
    /// Lacks a 64-bit form.
    e32,
    /// Lacks a 64-bit form on gfx11 and gfx12.
    e32_rdna,
    /// Accepts and ignores signs of operands on gfx9.
    signs_gfx9,
    /// Accepts and ignores signs of operands on gfx12.
    signs_gfx12,
    /// Lacks a form with DPP, although the operands fit.
    no_dpp,
    /// Lacks a form with SDWA, although the operands fit.
    no_sdwa,
    /// Allows DPP, although operands have 64 bits.
    dpp64,
    /// Moves accumulation registers.
    acc,
    /// Allows negation of the halves of packed operands.
    neg,
    /// Mixes 16-bit and 32-bit floats.
    mix,
    /// Multiplies matrices (CDNA).
    mfma,
    /// Multiplies sparse matrices (CDNA).
    smfmac,
    /// Multiplies matrices (RDNA).
    wmma,
    /// Multiplies sparse matrices (RDNA).
    swmmac,
    /// Takes two offsets of 8 bits.
    two_offsets,
    /// Takes a pattern of lanes as the offset.
    swizzle,
    /// Exists for flat addresses.
    flat,
    /// Exists for global memory.
    global,
    /// Exists for scratch memory.
    scratch,
    /// Reads, changes and writes memory, and returns the old value on request.
    atomic,
    /// Takes no operands.
    bare,
    /// Writes LDS.
    lds,
    /// Allows a form that writes LDS.
    to_lds,
    /// Accesses global data share.
    gds,
}

/// An operation.
#[derive(Debug)]
pub struct Row {
    /// Its name in the newest generation.
    pub name: &'static str,
    /// Its number and name in each generation.
    pub numbers: [Option<(u16, &'static str)>; 3],
    /// The architectures of gfx9 that have it; empty if all have it.
    pub only: &'static [Arch],
    /// The kinds of its destinations.
    pub dst: &'static [Kind],
    /// The kinds of its sources.
    pub src: &'static [Kind],
    /// Its properties.
    pub flags: &'static [Flag],
}

impl Row {
    /// Whether it has the property.
    #[must_use]
    pub fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// Its name on a generation.
    #[must_use]
    pub fn name_on(&self, generation: Generation) -> &'static str {
        self.numbers[generation as usize].map_or(self.name, |(_, name)| name)
    }

    /// Its number on an architecture, if it exists there.
    #[must_use]
    pub fn number(&self, arch: Arch) -> Option<u16> {
        let (number, _) = self.numbers[arch.generation() as usize]?;
        let restricted = arch.generation() == Generation::Gfx9 && !self.only.is_empty();
        (!restricted || self.only.contains(&arch)).then_some(number)
    }
}

/// Rows by architecture and number.
pub(crate) type Index = [Vec<Option<u16>>; 6];

/// The index of a table.
pub(crate) fn index(rows: &[Row]) -> Index {
    Arch::ALL.map(|arch| {
        let mut by_number = Vec::new();
        for (row, position) in rows.iter().zip(0..) {
            if let Some(number) = row.number(arch) {
                let number = usize::from(number);
                if by_number.len() <= number {
                    by_number.resize(number + 1, None);
                }
                debug_assert_eq!(by_number[number], None, "{arch}: {}", row.name);
                by_number[number] = Some(position);
            }
        }
        by_number
    })
}

/// Declares the operations of a table as an enumeration with a [`Row`] each.
macro_rules! operations {
    (
        $(#[$doc:meta])*
        $table:ident;
        $($name:ident [$gfx9:tt $gfx11:tt $gfx12:tt] $($dst:ident)* = $($src:ident)*
            $(+ $($flag:ident)+)? $(@ $($arch:ident)+)?;)*
    ) => {
        $(#[$doc])*
        #[expect(non_camel_case_types, missing_docs, reason = "the names are the manuals'")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $table { $($name),* }

        impl $table {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            const ROWS: &[$crate::isa::Row] = &[$($crate::isa::Row {
                name: stringify!($name),
                numbers: [
                    operations!(@number $name $gfx9),
                    operations!(@number $name $gfx11),
                    operations!(@number $name $gfx12),
                ],
                only: &[$($(operations!(@arch $arch)),+)?],
                dst: &[$($crate::isa::Kind::$dst),*],
                src: &[$($crate::isa::Kind::$src),*],
                flags: &[$($($crate::isa::Flag::$flag),+)?],
            }),*];

            /// Its row of the table.
            #[must_use]
            pub fn row(self) -> &'static $crate::isa::Row {
                &Self::ROWS[self as usize]
            }

            /// The operation of that number on an architecture.
            #[must_use]
            pub fn find(arch: $crate::arch::Arch, number: u16) -> Option<Self> {
                static INDEX: std::sync::LazyLock<$crate::isa::row::Index> =
                    std::sync::LazyLock::new(|| $crate::isa::row::index($table::ROWS));
                let position = *INDEX[arch as usize].get(usize::from(number))?;
                position.map(|position| Self::ALL[usize::from(position)])
            }
        }
    };
    (@number $name:ident _) => { None };
    (@number $name:ident ($number:literal $old:ident)) => { Some(($number, stringify!($old))) };
    (@number $name:ident $number:literal) => { Some(($number, stringify!($name))) };
    (@arch gfx906) => { $crate::arch::Arch::Gfx906 };
    (@arch gfx908) => { $crate::arch::Arch::Gfx908 };
    (@arch gfx90a) => { $crate::arch::Arch::Gfx90a };
    (@arch gfx942) => { $crate::arch::Arch::Gfx942 };
}
pub(crate) use operations;
