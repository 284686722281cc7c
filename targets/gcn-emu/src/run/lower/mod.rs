//! Lowering of instructions to steps: functions with resolved operands.

mod access;
mod caches;
mod scalar;
mod vector;

use super::flow::Flow;
use super::operand::{Destination, Source, Special};
use super::register_counts::RegisterCounts;
use super::step::{Detail, Step};
use super::wave::{ACCUMULATIONS, VECTORS};
use super::{control, lanes, relative, scalar_float, scalar_table};
use crate::alu::{LANES, Type};
use crate::arch::Generation;
use crate::fault::FaultKind;
use crate::inst::{Inst, Modifiers, Op, Operand, Register, Value};
use crate::isa::Row;

type Result<T> = std::result::Result<T, FaultKind>;

/// Lowers an instruction to a step.
pub(super) fn lower(inst: Inst) -> Result<Step> {
    let mut step = Step {
        run: |_, _, _| Flow::Next,
        bytes: 4 * u64::from(inst.words),
        needs: RegisterCounts::new(needs(&inst)),
        dst: Destination::None,
        src: [const { Source::None }; 4],
        immediate: 0,
        detail: Detail::None,
        inst,
    };
    let inst = step.inst.clone();
    Builder {
        step: &mut step,
        inst: &inst,
    }
    .build()?;
    Ok(step)
}

/// The registers that an instruction needs: scalar, vector, accumulation.
fn needs(inst: &Inst) -> [u16; 3] {
    let mut needs = [0; 3];
    let other = match &inst.modifiers {
        Modifiers::Dual(half) => half.operands.as_slice(),
        _ => &[],
    };
    for operand in inst.operands.iter().chain(other) {
        let Value::Registers(register, count) = operand.value else {
            continue;
        };
        let (at, first) = match register {
            Register::Scalar(first) => (0, first),
            Register::Vector(first) => (1, first),
            Register::Accumulation(first) => (2, first),
            Register::Trap(_) | Register::Special(_) => continue,
        };
        needs[at] = needs[at].max(u16::from(first) + u16::from(count));
    }
    needs
}

struct Builder<'a> {
    step: &'a mut Step,
    inst: &'a Inst,
}

impl Builder<'_> {
    fn unsupported(&self) -> FaultKind {
        FaultKind::Unsupported(format!("`{}`", self.inst))
    }

    fn row(&self) -> &'static Row {
        self.inst.op.row()
    }

    /// Operands behind the destinations.
    fn sources(&self) -> &[Operand] {
        let dsts = self
            .inst
            .operands
            .len()
            .saturating_sub(self.row().src.len());
        &self.inst.operands[dsts..]
    }

    fn source(&self, operand: &Operand, kind: Type) -> Result<Source> {
        Ok(match operand.value {
            Value::Registers(register, _) => match register {
                Register::Vector(number) => Source::Vector(number as u16 + VECTORS as u16),
                Register::Accumulation(number) => {
                    Source::Vector(number as u16 + ACCUMULATIONS as u16)
                }
                Register::Scalar(number) => Source::Scalar(number),
                Register::Trap(number) => Source::Scalar(108 + number),
                Register::Special(number) => self.special(number)?,
            },
            Value::Off => Source::None,
            value => self.constant(value, kind),
        })
    }

    fn special(&self, number: u8) -> Result<Source> {
        let is_null = number == 124 && self.inst.target.arch.generation() != Generation::Gfx9;
        Ok(match number {
            _ if is_null => self.constant(Value::Immediate(0), Type::U64),
            0..128 => Source::Scalar(number),
            235 => Source::Special(Special::SharedBase),
            236 => Source::Special(Special::SharedLimit),
            237 => Source::Special(Special::PrivateBase),
            238 => Source::Special(Special::PrivateLimit),
            251 => Source::Special(Special::Vccz),
            252 => Source::Special(Special::Execz),
            253 => Source::Special(Special::Scc),
            _ => return Err(self.unsupported()),
        })
    }

    fn constant(&self, value: Value, kind: Type) -> Source {
        let bits = match value {
            Value::Integer(value) => i64::from(value).cast_unsigned(),
            Value::Immediate(value) => i64::from(value).cast_unsigned(),
            Value::Literal(word) => match kind {
                Type::F64 => u64::from(word) << 32,
                Type::I64 => i64::from(word.cast_signed()).cast_unsigned(),
                _ => word.into(),
            },
            Value::Float(value) => match kind.bits() {
                16 => half_constant(value, kind),
                32 => (value as f32).to_bits().into(),
                _ => value.to_bits(),
            },
            Value::Registers(..) | Value::Off => 0,
        };
        let bits = match kind.bits() {
            16 => bits & 0xffff,
            32 => bits & 0xffff_ffff,
            _ => bits,
        };
        let rows = Box::new([[bits as u32; LANES], [(bits >> 32) as u32; LANES]]);
        Source::Constant(bits, rows)
    }

    fn destination(&self, operand: &Operand) -> Destination {
        let Value::Registers(register, _) = operand.value else {
            return Destination::None;
        };
        match register {
            Register::Vector(number) => Destination::Vector(number as u16 + VECTORS as u16),
            Register::Accumulation(number) => {
                Destination::Vector(number as u16 + ACCUMULATIONS as u16)
            }
            Register::Scalar(number) => Destination::Scalar(number),
            Register::Trap(number) => Destination::Scalar(108 + number),
            Register::Special(number) => Destination::Scalar(number),
        }
    }

    fn build(mut self) -> Result<()> {
        match self.inst.op {
            Op::Sop1(op) => self.one(op),
            Op::Sop2(op) => self.scalar(scalar_table::two(op).or_else(|| scalar_float::two(op))),
            Op::Sopc(op) if let Some(run) = relative::begin(op) => {
                self.step.run = run;
                self.step.immediate = self.immediate();
                let distance = self.inst.operands.first();
                let distance = distance.ok_or_else(|| self.unsupported())?;
                self.step.src[0] = self.source(distance, Type::U32)?;
                Ok(())
            }
            Op::Sopc(op) => {
                self.scalar(scalar_table::compare(op).or_else(|| scalar_float::compare(op)))
            }
            Op::Sopk(op) => self.constant_operation(op),
            Op::Sopp(op) => {
                self.step.run = control::control(op)
                    .or_else(|| relative::change(op))
                    .ok_or_else(|| self.unsupported())?;
                self.step.immediate = self.immediate();
                Ok(())
            }
            Op::ScalarMemory(op) => self.scalar_memory(op),
            Op::Valu(op) => match lanes::vector(op).or_else(|| relative::vector(op)) {
                Some(run) => self.across_lanes(run),
                None => self.arithmetic(),
            },
            Op::Packed(op) => match lanes::packed(op) {
                Some(run) => self.across_lanes(run),
                None => self.packed(op),
            },
            Op::Dual(_) => self.dual(),
            Op::Lds(op) => match lanes::lds(op) {
                Some(run) => {
                    self.across_lanes(run)?;
                    if let Modifiers::Lds(modifiers) = self.inst.modifiers {
                        self.step.immediate = modifiers.offset.into();
                    }
                    Ok(())
                }
                None => self.lds(op),
            },
            Op::Flat(_) => self.flat(),
            Op::Buffer(_) => self.buffer(),
            Op::Interp(_) | Op::TypedBuffer(_) => Err(self.unsupported()),
        }
    }

    /// The first number within the instruction.
    fn immediate(&self) -> i64 {
        let numbers = self
            .inst
            .operands
            .iter()
            .filter_map(|operand| match operand.value {
                Value::Immediate(number) => Some(number.into()),
                _ => None,
            });
        numbers.into_iter().next().unwrap_or(0)
    }
}

/// The bits of a constant as a float of 16 bits.
fn half_constant(value: f64, kind: Type) -> u64 {
    // 1 / (2 pi) is the only one whose lower bits matter.
    const INVERSE_OF_2_PI: u64 = 0x3118;
    let bits = (value as f32).to_bits();
    match kind {
        Type::BF16 => u64::from(bits >> 16),
        _ if value.abs() < 0.25 => INVERSE_OF_2_PI,
        _ => {
            let exponent = (bits >> 23 & 0xff) + 15 - 127;
            u64::from(bits >> 31 << 15 | exponent << 10 | bits >> 13 & 0x3ff)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Type, half_constant};

    #[test]
    fn constants_are_floats_of_16_bits() {
        let halves =
            [0.5, -0.5, 1.0, -1.0, 2.0, 4.0, -4.0].map(|value| half_constant(value, Type::F16));
        assert_eq!(
            halves,
            [0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0x4400, 0xc400]
        );
    }
}
