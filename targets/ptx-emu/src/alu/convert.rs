//! Conversions. Source: the PTX ISA, "Data Movement and Conversion Instructions: cvt".

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use small_floats::{bfloat_to_single, half_to_single};

use super::float::{Rounding, flush};
use super::{Un, Value, each};
use crate::text::types::Type;

/// How a float becomes an integral value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integral {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Integral {
    /// The name in modifiers.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "rni" => Self::Nearest,
            "rzi" => Self::Zero,
            "rmi" => Self::Down,
            "rpi" => Self::Up,
            _ => return None,
        })
    }

    fn round(self, value: f64) -> f64 {
        match self {
            Self::Nearest => value.round_ties_even(),
            Self::Zero => value.trunc(),
            Self::Down => value.floor(),
            Self::Up => value.ceil(),
        }
    }
}

/// A conversion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convert {
    pub(crate) from: Type,
    pub(crate) to: Type,
    /// Width of the register that takes the result; signed results fill it.
    pub(crate) width: u32,
    pub(crate) rounding: Option<Rounding>,
    pub(crate) integral: Option<Integral>,
    pub(crate) ftz: bool,
    pub(crate) sat: bool,
    /// Infinite results of 16 bits become the largest numbers.
    pub(crate) finite: bool,
    pub(crate) relu: bool,
}

/// The low bits, extended to a number.
fn number(bits: u64, ty: Type) -> i128 {
    let shift = 64 - ty.bits();
    if ty.is_signed() {
        i128::from(((bits << shift) as i64) >> shift)
    } else {
        i128::from((bits << shift) >> shift)
    }
}

fn range(ty: Type) -> (i128, i128) {
    if ty.is_signed() {
        (-(1 << (ty.bits() - 1)), (1 << (ty.bits() - 1)) - 1)
    } else {
        (0, (1 << ty.bits()) - 1)
    }
}

fn low(bits: u64, width: u32) -> u64 {
    if width >= 64 {
        bits
    } else {
        bits & ((1 << width) - 1)
    }
}

impl Convert {
    /// Whether the conversion exists: those that round require a rounding mode, others must not have
    /// one.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let (from, to) = (self.from.is_float(), self.to.is_float());
        let needs_rounding = match (from, to) {
            (false, true) => true,
            (true, true) => {
                self.to.bytes() < self.from.bytes()
                    || (self.to != self.from && self.to.bytes() == self.from.bytes())
            }
            _ => false,
        };
        if needs_rounding && self.rounding.is_none() {
            return Err("the rounding modifier is missing (.rn, .rz, .rm, .rp)");
        }
        if !needs_rounding && self.rounding.is_some() {
            return Err("it does not round");
        }
        if from && !to && self.integral.is_none() {
            return Err("the rounding modifier is missing (.rni, .rzi, .rmi, .rpi)");
        }
        if self.integral.is_some() && (!from || (to && self.from != self.to)) {
            return Err("integer rounding is for floats of one type, or integers made of them");
        }
        if self.relu && (self.from != Type::F32 || self.to.bits() != 16 || !to) {
            return Err(".relu is for single precision to 16 bits");
        }
        if self.finite && (self.from != Type::F32 || self.to.bits() != 16 || !to) {
            return Err(".satfinite is for single precision to 16 bits");
        }
        if self.ftz && self.from != Type::F32 && self.to != Type::F32 {
            return Err(".ftz is for single precision");
        }
        Ok(())
    }

    /// Whether all that it does is cut off or extend.
    pub(crate) fn quick(&self) -> Option<Un> {
        if self.sat || (self.to.is_signed() && self.width > self.to.bits()) {
            return None;
        }
        macro_rules! to {
            ($from:ty) => {
                match self.to.bits() {
                    8 => each!(|a: $from| a as u8),
                    16 => each!(|a: $from| a as u16),
                    32 => each!(|a: $from| a as u32),
                    _ => each!(|a: $from| a as u64),
                }
            };
        }
        if !self.to.is_int() {
            return None;
        }
        Some(match self.from {
            Type::U8 | Type::B8 => to!(u8),
            Type::S8 => to!(i8),
            Type::U16 | Type::B16 => to!(u16),
            Type::S16 => to!(i16),
            Type::U32 | Type::B32 => to!(u32),
            Type::S32 => to!(i32),
            Type::U64 | Type::B64 => to!(u64),
            Type::S64 => to!(i64),
            _ => return None,
        })
    }

    /// Converts one value.
    pub(crate) fn apply(&self, bits: u64) -> u64 {
        match (self.from.is_float(), self.to.is_float()) {
            (false, false) => self.int(number(bits, self.from)),
            (false, true) => self.float_of_int(number(bits, self.from)),
            (true, false) => self.int_of_float(self.exact(bits)),
            (true, true) => self.float_of_float(bits),
        }
    }

    fn int(&self, value: i128) -> u64 {
        let value = if self.sat {
            let (least, most) = range(self.to);
            value.clamp(least, most)
        } else {
            value
        };
        self.extended(value)
    }

    /// An integer as the register takes it.
    fn extended(&self, value: i128) -> u64 {
        let value = low(value as u64, self.to.bits());
        let value = if self.to.is_signed() {
            number(value, self.to) as u64
        } else {
            value
        };
        low(value, self.width)
    }

    /// The operand in double precision, which has them all.
    fn exact(&self, bits: u64) -> f64 {
        match self.from {
            Type::F16 => f64::from(half_to_single(bits as u16)),
            Type::Bf16 => f64::from(bfloat_to_single(bits as u16)),
            Type::F32 => f64::from(flush(f32::get(bits), self.ftz)),
            _ => f64::get(bits),
        }
    }

    fn int_of_float(&self, value: f64) -> u64 {
        if value.is_nan() {
            let is_small = self.from != Type::F64 && self.to.bits() < 64;
            let value = if is_small {
                0
            } else {
                1 << (self.to.bits() - 1)
            };
            return self.extended(value);
        }
        let value = self.integral.unwrap_or(Integral::Zero).round(value);
        let (least, most) = range(self.to);
        self.extended((value as i128).clamp(least, most))
    }

    fn round(&self) -> Round {
        self.rounding.unwrap_or(Rounding::Nearest).soft()
    }

    fn float_of_int(&self, value: i128) -> u64 {
        // 0 and 1 are the only integers from 0 to 1.
        let value = if self.sat { value.clamp(0, 1) } else { value };
        match (self.to, self.round()) {
            (Type::F32, Round::NearestTiesToEven) => self.finish32(value as f32),
            (Type::F64, Round::NearestTiesToEven) => (value as f64).put(),
            (Type::F32, round) => {
                let single = Single::from_i128_r(value, round).value;
                self.finish32(f32::from_bits(single.to_bits() as u32))
            }
            (Type::F64, round) => {
                let double = Double::from_i128_r(value, round).value;
                f64::from_bits(double.to_bits() as u64).put()
            }
            (Type::F16, round) => Half::from_i128_r(value, round).value.to_bits() as u64,
            (_, round) => BFloat::from_i128_r(value, round).value.to_bits() as u64,
        }
    }

    fn float_of_float(&self, bits: u64) -> u64 {
        let mut value = self.exact(bits);
        if let Some(integral) = self.integral {
            value = integral.round(value);
        }
        if self.relu && !value.is_nan() && value.is_sign_negative() {
            value = 0.0;
        }
        if self.sat {
            value = if value.is_nan() {
                0.0
            } else {
                value.clamp(0.0, 1.0) + 0.0
            };
        }
        match self.to {
            Type::F64 => value.put(),
            Type::F32 => self.finish32(narrow_single(value, self.round())),
            Type::F16 => self.finish16(narrow::<Half>(value, self.round()), 0x7c00),
            _ => self.finish16(narrow::<BFloat>(value, self.round()), 0x7f80),
        }
    }

    fn finish16(&self, bits: u16, infinite: u16) -> u64 {
        let is_infinite = bits & 0x7fff == infinite;
        // The largest number is the one before.
        u64::from(bits - u16::from(self.finite && is_infinite))
    }

    fn finish32(&self, value: f32) -> u64 {
        flush(value, self.ftz).put()
    }
}

fn narrow_single(value: f64, round: Round) -> f32 {
    if round == Round::NearestTiesToEven {
        return value as f32;
    }
    let exact = Double::from_bits(u128::from(value.to_bits()));
    let single: Single = exact.convert_r(round, &mut false).value;
    f32::from_bits(single.to_bits() as u32)
}

fn narrow<F: Float>(value: f64, round: Round) -> u16
where
    Double: FloatConvert<F>,
{
    if value.is_nan() {
        return 0x7fff;
    }
    let exact = Double::from_bits(u128::from(value.to_bits()));
    exact.convert_r(round, &mut false).value.to_bits() as u16
}
