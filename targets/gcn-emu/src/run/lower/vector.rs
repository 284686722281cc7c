//! Vector arithmetic, and instructions across lanes.

use super::super::arithmetic;
use super::super::flow::Flow;
use super::super::modifiers::{LaneSource, Placement, ResolvedModifiers, SourceModifiers};
use super::super::operand::{Destination, Source};
use super::super::packed::Packed;
use super::super::step::{Detail, Run};
use super::super::vector::{self, Alu};
use super::super::wave::{EXEC, VCC};
use super::{Builder, Result};
use crate::alu::{self, Type};
use crate::arch::Generation;
use crate::inst::{AluModifiers, Half, Modifiers, Op, Operand, Register, SdwaSelect, Value};
use crate::isa::{Flag, PackedOp, has_short_form};

impl Builder<'_> {
    /// An instruction whose operands are words.
    pub(super) fn across_lanes(&mut self, run: Run) -> Result<()> {
        if let Modifiers::Alu(AluModifiers { dpp, sdwa, .. }) = self.inst.modifiers
            && (dpp.is_some() || sdwa.is_some())
        {
            return Err(self.unsupported());
        }
        self.step.run = run;
        if let (false, Some(dst)) = (self.row().dst.is_empty(), self.inst.operands.first()) {
            self.step.dst = self.destination(dst);
        }
        let sources = self.sources().to_vec();
        for (at, operand) in sources.iter().enumerate().take(4) {
            self.step.src[at] = self.source(operand, Type::U32)?;
        }
        Ok(())
    }

    pub(super) fn arithmetic(&mut self) -> Result<()> {
        let operation = alu::find(self.inst.op).ok_or_else(|| self.unsupported())?;
        let dsts = self
            .inst
            .operands
            .len()
            .saturating_sub(self.row().src.len());
        let (dsts, sources) = self.inst.operands.split_at(dsts);
        let mut alu = self.alu(operation, dsts, sources)?;
        if let ([dst], false) = (dsts, operation.writes_mask)
            && matches!(self.destination(dst), Destination::Scalar(_))
        {
            if self.modifiers(operation, dsts, sources)?.is_some() {
                return Err(self.unsupported());
            }
            alu.masks.clear();
            self.step.dst = self.destination(dst);
            self.step.detail = Detail::Alu(Box::new(alu));
            self.step.run = arithmetic::scalar;
            return Ok(());
        }
        let compares_to_exec = self.row().name.starts_with("v_cmpx_");
        if compares_to_exec {
            alu.masks.push(EXEC);
        }
        alu.modifiers = self.modifiers(operation, dsts, sources)?;
        self.step.run = arithmetic::step_function(&alu);
        self.step.detail = Detail::Alu(Box::new(alu));
        Ok(())
    }

    /// Arithmetic without modifiers.
    pub(super) fn alu(
        &self,
        operation: &'static alu::Operation,
        dsts: &[Operand],
        sources: &[Operand],
    ) -> Result<Alu> {
        let mut alu = Alu {
            function: operation.run.of_this_machine(),
            src: [const { Source::None }; 4],
            rows: [1; 4],
            count: 0,
            dst: vector::RESULT,
            mask: None,
            masks: Vec::new(),
            modifiers: None,
            has_floats: operation.src.iter().flatten().any(|kind| kind.is_float())
                || operation.dst.is_some_and(Type::is_float),
            operation,
        };
        for operand in dsts {
            match self.destination(operand) {
                Destination::Vector(row) => {
                    let rows = operation.dst.map_or(0, Type::rows);
                    if rows > usize::from(operand.kind.registers()) {
                        return Err(self.unsupported());
                    }
                    alu.dst = row;
                }
                Destination::Scalar(number) => alu.masks.push(number),
                Destination::None => {}
            }
        }
        let clamps = match self.inst.modifiers {
            Modifiers::Alu(modifiers) => modifiers.clamp,
            Modifiers::Packed(modifiers) => modifiers.clamp,
            _ => false,
        };
        if let (true, Some(clamped)) = (clamps, operation.clamped.first()) {
            alu.function = clamped.of_this_machine();
        }
        let mut operands = sources.iter();
        let count = operation.src.len() - usize::from(operation.reads_dst);
        for kind in &operation.src[..count] {
            let operand = operands.next();
            // The function reads as many rows as its type has.
            if let (Some(kind), Some(Value::Registers(_, registers))) =
                (kind, operand.map(|operand| operand.value))
                && kind.rows() > usize::from(registers)
            {
                return Err(self.unsupported());
            }
            match (kind, operand) {
                (Some(kind), Some(operand)) => alu.add(self.source(operand, *kind)?, *kind),
                (None, Some(operand)) => match self.source(operand, Type::U64)? {
                    Source::Scalar(number) => alu.mask = Some(number),
                    _ => return Err(self.unsupported()),
                },
                // VCC is implicit.
                (None, None) => alu.mask = Some(VCC),
                (Some(_), None) => return Err(self.unsupported()),
            }
        }
        if operands.next().is_some() {
            return Err(self.unsupported());
        }
        if operation.reads_dst {
            let kind = operation.dst.ok_or_else(|| self.unsupported())?;
            alu.add(Source::Vector(alu.dst), kind);
        }
        Ok(alu)
    }

    pub(super) fn packed(&mut self, op: PackedOp) -> Result<()> {
        let Modifiers::Packed(modifiers) = &self.inst.modifiers else {
            return Err(self.unsupported());
        };
        let [dst, sources @ ..] = self.inst.operands.as_slice() else {
            return Err(self.unsupported());
        };
        let mut modifiers = *modifiers;
        // Operations that mix floats have signs at their operands.
        for (at, source) in sources.iter().enumerate() {
            modifiers.neg_lo |= u8::from(source.neg) << at;
            modifiers.neg_hi |= u8::from(source.abs) << at;
        }
        let operation = alu::find_packed(op, &modifiers).ok_or_else(|| self.unsupported())?;
        let Destination::Vector(dst) = self.destination(dst) else {
            return Err(self.unsupported());
        };
        let mut src = Vec::new();
        for (at, (source, &kind)) in sources.iter().zip(operation.src).enumerate() {
            let is_constant = !matches!(source.value, Value::Registers(..));
            let is_wide = source.kind.registers() == 2;
            // The upper half of a constant is known only of 0.
            let selects = match op {
                PackedOp::v_pk_mov_b32 => modifiers.op_sel,
                _ => modifiers.op_sel_hi,
            };
            let is_zero = source.value == Value::Integer(0);
            if is_constant && is_wide && !is_zero && selects >> at & 1 != 0 {
                return Err(self.unsupported());
            }
            src.push(match (source.value, kind.bits()) {
                (Value::Float(_), 16) => self.source(source, kind)?,
                _ => self.source(source, Type::U32)?,
            });
        }
        if operation.reads_dst {
            src.push(Source::Vector(dst));
        }
        if src.len() != operation.src.len() {
            return Err(self.unsupported());
        }
        self.step.detail = Detail::Packed(Box::new(Packed {
            function: operation.run.of_this_machine(),
            has_floats: operation.src.iter().any(|kind| kind.is_float()),
            kind: operation.dst,
            dpp: modifiers.dpp.map(LaneSource::new),
            modifiers,
            src,
            dst,
        }));
        self.step.run = |wave, step, _| match &step.detail {
            Detail::Packed(packed) => packed.run(wave),
            _ => Flow::Next,
        };
        Ok(())
    }

    pub(super) fn dual(&mut self) -> Result<()> {
        let Modifiers::Dual(other) = &self.inst.modifiers else {
            return Err(self.unsupported());
        };
        let half = |op, operands: &[Operand]| {
            let operation = alu::find(Op::Dual(op)).ok_or_else(|| self.unsupported())?;
            let (dst, sources) = operands.split_at(1);
            self.alu(operation, dst, sources)
        };
        let Op::Dual(first) = self.inst.op else {
            return Err(self.unsupported());
        };
        let halves = [
            half(first, &self.inst.operands)?,
            half(other.op, &other.operands)?,
        ];
        self.step.detail = Detail::Dual(Box::new(halves));
        self.step.run = arithmetic::dual;
        Ok(())
    }

    /// The modifiers of vector arithmetic, if there are any.
    pub(super) fn modifiers(
        &self,
        operation: &alu::Operation,
        dsts: &[Operand],
        sources: &[Operand],
    ) -> Result<Option<Box<ResolvedModifiers>>> {
        let Modifiers::Alu(given) = &self.inst.modifiers else {
            return Ok(None);
        };
        let mut all = ResolvedModifiers::default();
        let types = operation.src.iter();
        let mut number = 0;
        for (at, (kind, operand)) in types.zip(sources).enumerate() {
            let Some(kind) = kind else { continue };
            let is_register = matches!(
                operand.value,
                Value::Registers(Register::Vector(_) | Register::Accumulation(_), _)
            );
            let select = match (given.sdwa, kind.bits()) {
                (Some(sdwa), _) if at < 2 => Some(sdwa.src[at]),
                (None, 16) if half(operand, given.op_sel >> at & 1 != 0) => {
                    Some(SdwaSelect::Word(1))
                }
                _ => None,
            };
            let select = select.filter(|select| *select != SdwaSelect::Dword);
            if kind.bits() != 16 && given.op_sel != 0 {
                return Err(self.unsupported());
            }
            all.src[number] = SourceModifiers {
                neg: operand.neg,
                abs: operand.abs,
                sext: operand.sext,
                select: select.filter(|_| is_register || given.sdwa.is_some()),
            };
            number += 1;
        }
        all.dpp = given.dpp.map(LaneSource::new);
        all.omod = given.omod;
        all.clamp = given.clamp && operation.dst.is_some_and(Type::is_float);
        let clamps_integer = given.clamp && !all.clamp && operation.dst.is_some();
        if clamps_integer && operation.clamped.is_empty() {
            return Err(self.unsupported());
        }
        if all.omod != 0 && operation.dst == Some(Type::F16) {
            return Err(self.unsupported());
        }
        all.dst = self.placement(operation, given, dsts);
        let is_default = all == ResolvedModifiers::default();
        Ok((!is_default).then(|| Box::new(all)))
    }

    pub(super) fn placement(
        &self,
        operation: &alu::Operation,
        given: &AluModifiers,
        dsts: &[Operand],
    ) -> Placement {
        if let Some(select) = given.sdwa.and_then(|sdwa| sdwa.dst)
            && select != SdwaSelect::Dword
        {
            return match given.sdwa.map_or(0, |sdwa| sdwa.unused) {
                0 => Placement::Extended(select, false),
                1 => Placement::Extended(select, true),
                _ => Placement::Part(select),
            };
        }
        if operation.dst.is_none_or(|kind| kind.bits() != 16) {
            return Placement::Whole;
        }
        let selected = given.op_sel & 8 != 0;
        let high = dsts.first().map_or(selected, |dst| half(dst, selected));
        let preserves = match self.inst.target.arch.generation() {
            // Operations that cannot select a half set the other half to 0.
            Generation::Gfx9 => {
                let target = self.inst.target.arch;
                let number = self.row().number(target).unwrap_or_default();
                let is_short = has_short_form(target.generation(), number);
                self.row().has(Flag::op_sel) && !is_short
            }
            Generation::Gfx11 | Generation::Gfx12 => true,
        };
        match preserves {
            true => Placement::Part(SdwaSelect::Word(high.into())),
            false => Placement::Whole,
        }
    }
}

/// The half of a register that an operand names, or that is selected.
fn half(operand: &Operand, selected: bool) -> bool {
    match operand.half {
        Some(half) => half == Half::High,
        None => selected,
    }
}
