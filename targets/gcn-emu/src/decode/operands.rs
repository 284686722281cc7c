//! Operands.

use super::reader::Reader;
use crate::arch::Generation;
use crate::error::DecodeErrorKind;
use crate::inst::{Half, Operand, Register, Value};
use crate::isa::Kind;

/// Number of VCC as an operand.
pub(super) const VCC: u16 = 106;

/// Number of EXEC as an operand.
pub(super) const EXEC: u16 = 126;
/// The number that means the word behind the instruction.
pub(super) const LITERAL: u16 = 255;
/// The first number of vector registers.
pub(super) const VECTOR: u16 = 256;

/// Floats within instructions, from number 240.
const FLOATS: [f64; 9] = [
    0.5,
    -0.5,
    1.0,
    -1.0,
    2.0,
    -2.0,
    4.0,
    -4.0,
    0.159_154_943_091_895_32,
];

type Result<T> = std::result::Result<T, DecodeErrorKind>;

impl Operand {
    pub(super) fn new(kind: Kind, value: Value) -> Self {
        Self {
            kind,
            value,
            neg: false,
            abs: false,
            sext: false,
            half: None,
        }
    }

    pub(super) fn immediate(kind: Kind, value: i32) -> Self {
        Self::new(kind, Value::Immediate(value))
    }

    /// The half that a bit selects.
    pub(super) fn with_half(mut self, high: bool) -> Self {
        self.half = Some(if high { Half::High } else { Half::Low });
        self
    }
}

impl Reader<'_> {
    fn registers(&self, kind: Kind) -> u8 {
        match kind {
            Kind::Mask => self.mask_registers(),
            kind => kind.registers(),
        }
    }

    /// Vector registers, or accumulation registers.
    pub(super) fn vector(&self, kind: Kind, number: u16, accumulation: bool) -> Result<Operand> {
        self.vectors(kind, kind.registers(), number, accumulation)
    }

    /// `count` vector registers.
    pub(super) fn vectors(
        &self,
        kind: Kind,
        count: u8,
        number: u16,
        accumulation: bool,
    ) -> Result<Operand> {
        if number + u16::from(count) > 256 {
            return Err(DecodeErrorKind::Operand(VECTOR + number));
        }
        if count > 1 && !number.is_multiple_of(2) && self.arch().has_unified_registers() {
            return Err(DecodeErrorKind::Operand(VECTOR + number));
        }
        let first = number as u8;
        let register = match accumulation {
            true => Register::Accumulation(first),
            false => Register::Vector(first),
        };
        Ok(Operand::new(kind, Value::Registers(register, count)))
    }

    /// Scalar or special registers by their number as an operand.
    pub(super) fn scalar(&self, kind: Kind, number: u16) -> Result<Operand> {
        let count = self.registers(kind);
        let invalid = Err(DecodeErrorKind::Operand(number));
        let gfx9 = self.generation() == Generation::Gfx9;
        let (first, end) = match number {
            0..=107 => (0, if gfx9 { 102 } else { 106 }),
            108..=123 => (108, 124),
            _ => (number, number),
        };
        let register = if number >= end {
            let known = match number {
                // The upper half of a pair does not start a pair.
                102 | 104 if gfx9 => count <= 2,
                103 | 105 if gfx9 => count == 1,
                106 | 126 => count <= 2,
                107 | 127 => count == 1,
                124 if gfx9 => count == 1,
                124 => true,
                125 if gfx9 => false,
                125 => count == 1,
                235..=238 => count <= 2,
                239 => count <= 2,
                251..=253 => count <= 2,
                254 => count == 1,
                _ => false,
            };
            if !known {
                return invalid;
            }
            Register::Special(number as u8)
        } else {
            let offset = number - first;
            let align = u16::from(count.next_power_of_two().min(4));
            if !offset.is_multiple_of(align) {
                return Err(DecodeErrorKind::MisalignedRegister(number));
            }
            if number + u16::from(count) > end {
                return invalid;
            }
            match first {
                0 => Register::Scalar(offset as u8),
                _ => Register::Trap(offset as u8),
            }
        };
        Ok(Operand::new(kind, Value::Registers(register, count)))
    }

    /// A scalar destination.
    pub(super) fn scalar_dst(&self, kind: Kind, number: u16) -> Result<Operand> {
        match number {
            0..128 => self.scalar(kind, number),
            _ => Err(DecodeErrorKind::Operand(number)),
        }
    }

    /// A source of 8 bits: a scalar register or a constant.
    pub(super) fn scalar_source(&mut self, kind: Kind, number: u16) -> Result<Operand> {
        let only_registers = matches!(kind, Kind::Mask | Kind::S64);
        let value = match number {
            128..=208 if only_registers => return Err(DecodeErrorKind::Operand(number)),
            128..=192 => Value::Integer((number - 128) as i8),
            193..=208 => Value::Integer(-((number - 192) as i8)),
            240..=248 if !only_registers => Value::Float(FLOATS[usize::from(number - 240)]),
            LITERAL if !only_registers => Value::Literal(self.literal()?),
            _ => return self.scalar(kind, number),
        };
        Ok(Operand::new(kind, value))
    }

    /// A source of 8 bits that is no literal.
    pub(super) fn inline_source(&mut self, kind: Kind, number: u16) -> Result<Operand> {
        match number {
            LITERAL => Err(DecodeErrorKind::Operand(number)),
            _ => self.scalar_source(kind, number),
        }
    }

    /// A source of 9 bits: what 8 bits may be, or a vector register.
    pub(super) fn source(&mut self, kind: Kind, number: u16) -> Result<Operand> {
        match number {
            VECTOR.. if matches!(kind, Kind::S32 | Kind::SF32 | Kind::S64 | Kind::Mask) => {
                Err(DecodeErrorKind::Operand(number))
            }
            VECTOR.. => self.vector(kind, number - VECTOR, false),
            _ if matches!(kind, Kind::V16 | Kind::V32 | Kind::V128) => {
                Err(DecodeErrorKind::Operand(number))
            }
            _ => self.scalar_source(kind, number),
        }
    }

    /// VCC as a mask of lanes.
    pub(super) fn vcc(&self) -> Result<Operand> {
        self.scalar(Kind::Mask, VCC)
    }

    /// The constant behind the instruction.
    pub(super) fn constant(&mut self) -> Result<Operand> {
        Ok(Operand::new(Kind::K, Value::Literal(self.literal()?)))
    }
}
