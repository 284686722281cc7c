//! Scalar instructions.

use super::super::scalar::ScalarOperation;
use super::super::{control, relative, scalar_float, scalar_memory, scalar_table};
use super::{Builder, Result};
use crate::alu::Type;
use crate::inst::{Modifiers, Value};
use crate::isa::{Kind, ScalarMemoryOp, Sop1Op, SopkOp};

impl Builder<'_> {
    pub(super) fn one(&mut self, op: Sop1Op) -> Result<()> {
        let Some(run) = control::one(op).or_else(|| relative::one(op)) else {
            return self.scalar(scalar_table::one(op).or_else(|| scalar_float::one(op)));
        };
        self.step.run = run;
        self.step.immediate = self.immediate();
        let has_dst = !self.row().dst.is_empty();
        if let (true, Some(dst)) = (has_dst, self.inst.operands.first()) {
            self.step.dst = self.destination(dst);
        }
        if let Some(source) = self.sources().first() {
            let kind = match source.kind.registers() {
                2 => Type::U64,
                _ => Type::U32,
            };
            self.step.src[0] = self.source(source, kind)?;
        }
        Ok(())
    }

    pub(super) fn scalar(&mut self, operation: Option<&ScalarOperation>) -> Result<()> {
        let operation = operation.ok_or_else(|| self.unsupported())?;
        self.step.run = operation.run;
        if !self.row().dst.is_empty() {
            self.step.dst = self.destination(&self.inst.operands[0]);
        }
        let mut sources = self.sources().to_vec();
        // The destination is a source of multiply-adds.
        sources.extend(self.inst.operands.first().cloned());
        for (at, (operand, &kind)) in sources.iter().zip(operation.src).enumerate() {
            let source = self.source(operand, kind)?;
            self.step.src[at] = source;
        }
        Ok(())
    }

    pub(super) fn constant_operation(&mut self, op: SopkOp) -> Result<()> {
        self.step.run = control::constant(op).ok_or_else(|| self.unsupported())?;
        self.step.immediate = self.immediate();
        let has_dst = !self.row().dst.is_empty();
        for operand in &self.inst.operands {
            match operand.value {
                Value::Registers(..) if has_dst && operand.kind != Kind::HwReg => {
                    if self.row().dst[0] == Kind::HwReg {
                        self.step.src[0] = self.source(operand, Type::U32)?;
                    } else {
                        self.step.dst = self.destination(operand);
                    }
                }
                Value::Registers(..) | Value::Literal(_) => {
                    self.step.src[0] = self.source(operand, Type::U32)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn scalar_memory(&mut self, op: ScalarMemoryOp) -> Result<()> {
        let (name, row) = (op.row().name, op.row());
        match op {
            ScalarMemoryOp::s_dcache_inv
            | ScalarMemoryOp::s_gl1_inv
            | ScalarMemoryOp::s_dcache_wb
            | ScalarMemoryOp::s_dcache_inv_vol
            | ScalarMemoryOp::s_dcache_wb_vol => {
                self.step.run = scalar_memory::invalidate;
                return Ok(());
            }
            ScalarMemoryOp::s_memtime | ScalarMemoryOp::s_memrealtime => {
                self.step.run = scalar_memory::time;
                // A clock of 1 GHz, and one of 100 MHz.
                self.step.immediate = match op {
                    ScalarMemoryOp::s_memtime => 1,
                    _ => 10,
                };
                self.step.dst = self.destination(&self.inst.operands[0]);
                return Ok(());
            }
            _ if name.contains("prefetch") => {
                self.step.run = scalar_memory::prefetch;
                return Ok(());
            }
            _ => {}
        }
        let is_load = name.starts_with("s_load_") && row.src.first() == Some(&Kind::B64);
        let element = scalar_memory::element(op).filter(|_| is_load);
        let (bytes, signed) = element.ok_or_else(|| self.unsupported())?;
        let [dst, base, offset] = self.inst.operands.as_slice() else {
            return Err(self.unsupported());
        };
        self.step.run = scalar_memory::load;
        self.step.dst = self.destination(dst);
        self.step.src[0] = self.source(base, Type::U64)?;
        match offset.value {
            Value::Immediate(offset) => self.step.immediate = offset.into(),
            _ => self.step.src[1] = self.source(offset, Type::U32)?,
        }
        if let Modifiers::ScalarMemory(modifiers) = self.inst.modifiers {
            self.step.immediate += i64::from(modifiers.offset.unwrap_or(0));
        }
        let detail = i32::from(bytes as u16) | i32::from(signed) << 8;
        self.step.src[2] = self.constant(Value::Immediate(detail), Type::U64);
        Ok(())
    }
}
