//! Lowering of instructions to steps: functions with resolved operands.

use bus_cost::record::FenceScope;

use super::access::{self, Access, Action, CacheEffects};
use super::flow::Flow;
use super::group::Group;
use super::modifiers::{LaneSource, Modifiers as AluModifiersOf, Placement, SourceModifiers};
use super::operand::{Source, Special, Target};
use super::packed::Packed;
use super::register_counts::RegisterCounts;
use super::scalar::ScalarOperation;
use super::step::{Detail, Run, Step};
use super::vector::{self, Alu};
use super::wave::{ACCUMULATIONS, EXEC, VCC, VECTORS, Wave};
use super::{buffer, control, flat, lanes, lds, scalar_float, scalar_memory, scalar_table};
use crate::alu::{self, LANES, Type};
use crate::arch::{Arch, Generation};
use crate::fault::FaultKind;
use crate::inst::{
    AluModifiers, CachePolicy, Half, Inst, Modifiers, Op, Operand, Register, SdwaSelect, Segment,
    Value,
};
use crate::isa::{
    Flag, Kind, LdsOp, PackedOp, Row, ScalarMemoryOp, Sop1Op, SopkOp, has_short_form,
};

type Result<T> = std::result::Result<T, FaultKind>;

/// Device scope on gfx12.
const DEVICE_SCOPE: u8 = 2;

/// System scope on gfx12.
const SYSTEM_SCOPE: u8 = 3;

/// Lowers an instruction to a step.
pub(super) fn lower(inst: Inst) -> Result<Step> {
    let mut step = Step {
        run: |_, _, _| Flow::Next,
        bytes: 4 * u64::from(inst.words),
        needs: RegisterCounts::new(needs(&inst)),
        dst: Target::None,
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

/// Executes an instruction of the vector unit that computes a scalar.
fn scalar_arithmetic(wave: &mut Wave, step: &Step, _: &mut Group) -> Flow {
    match (&step.detail, step.dst) {
        (Detail::Alu(alu), Target::Scalar(dst)) => alu.run_scalar(wave, dst),
        _ => Flow::Next,
    }
}

/// Executes a VOPD instruction.
fn dual(wave: &mut Wave, step: &Step, _: &mut Group) -> Flow {
    match &step.detail {
        Detail::Dual(halves) => vector::run_dual(wave, halves),
        _ => Flow::Next,
    }
}

struct Builder<'a> {
    step: &'a mut Step,
    inst: &'a Inst,
}

/// The half of a register that an operand names, or that is selected.
fn half(operand: &Operand, selected: bool) -> bool {
    match operand.half {
        Some(half) => half == Half::High,
        None => selected,
    }
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

    fn target(&self, operand: &Operand) -> Target {
        let Value::Registers(register, _) = operand.value else {
            return Target::None;
        };
        match register {
            Register::Vector(number) => Target::Vector(number as u16 + VECTORS as u16),
            Register::Accumulation(number) => Target::Vector(number as u16 + ACCUMULATIONS as u16),
            Register::Scalar(number) => Target::Scalar(number),
            Register::Trap(number) => Target::Scalar(108 + number),
            Register::Special(number) => Target::Scalar(number),
        }
    }

    fn build(mut self) -> Result<()> {
        match self.inst.op {
            Op::Sop1(op) => self.one(op),
            Op::Sop2(op) => self.scalar(scalar_table::two(op).or_else(|| scalar_float::two(op))),
            Op::Sopc(op) => {
                self.scalar(scalar_table::compare(op).or_else(|| scalar_float::compare(op)))
            }
            Op::Sopk(op) => self.constant_operation(op),
            Op::Sopp(op) => {
                self.step.run = control::control(op).ok_or_else(|| self.unsupported())?;
                self.step.immediate = self.immediate();
                Ok(())
            }
            Op::ScalarMemory(op) => self.scalar_memory(op),
            Op::Valu(op) => match lanes::vector(op) {
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

    fn one(&mut self, op: Sop1Op) -> Result<()> {
        let Some(run) = control::one(op) else {
            return self.scalar(scalar_table::one(op).or_else(|| scalar_float::one(op)));
        };
        self.step.run = run;
        self.step.immediate = self.immediate();
        let has_dst = !self.row().dst.is_empty();
        if let (true, Some(dst)) = (has_dst, self.inst.operands.first()) {
            self.step.dst = self.target(dst);
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

    fn scalar(&mut self, operation: Option<&ScalarOperation>) -> Result<()> {
        let operation = operation.ok_or_else(|| self.unsupported())?;
        self.step.run = operation.run;
        if !self.row().dst.is_empty() {
            self.step.dst = self.target(&self.inst.operands[0]);
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

    fn constant_operation(&mut self, op: SopkOp) -> Result<()> {
        self.step.run = control::constant(op).ok_or_else(|| self.unsupported())?;
        self.step.immediate = self.immediate();
        let has_dst = !self.row().dst.is_empty();
        for operand in &self.inst.operands {
            match operand.value {
                Value::Registers(..) if has_dst && operand.kind != Kind::HwReg => {
                    if self.row().dst[0] == Kind::HwReg {
                        self.step.src[0] = self.source(operand, Type::U32)?;
                    } else {
                        self.step.dst = self.target(operand);
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

    fn scalar_memory(&mut self, op: ScalarMemoryOp) -> Result<()> {
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
                self.step.dst = self.target(&self.inst.operands[0]);
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
        self.step.dst = self.target(dst);
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

    /// An instruction whose operands are words.
    fn across_lanes(&mut self, run: Run) -> Result<()> {
        if let Modifiers::Alu(AluModifiers { dpp, sdwa, .. }) = self.inst.modifiers
            && (dpp.is_some() || sdwa.is_some())
        {
            return Err(self.unsupported());
        }
        self.step.run = run;
        if let (false, Some(dst)) = (self.row().dst.is_empty(), self.inst.operands.first()) {
            self.step.dst = self.target(dst);
        }
        let sources = self.sources().to_vec();
        for (at, operand) in sources.iter().enumerate().take(4) {
            self.step.src[at] = self.source(operand, Type::U32)?;
        }
        Ok(())
    }

    fn arithmetic(&mut self) -> Result<()> {
        let operation = alu::find(self.inst.op).ok_or_else(|| self.unsupported())?;
        let dsts = self
            .inst
            .operands
            .len()
            .saturating_sub(self.row().src.len());
        let (dsts, sources) = self.inst.operands.split_at(dsts);
        let mut alu = self.alu(operation, dsts, sources)?;
        if let ([dst], false) = (dsts, operation.writes_mask)
            && matches!(self.target(dst), Target::Scalar(_))
        {
            if self.modifiers(operation, dsts, sources)?.is_some() {
                return Err(self.unsupported());
            }
            alu.masks.clear();
            self.step.dst = self.target(dst);
            self.step.detail = Detail::Alu(Box::new(alu));
            self.step.run = scalar_arithmetic;
            return Ok(());
        }
        let compares_to_exec = self.row().name.starts_with("v_cmpx_");
        if compares_to_exec {
            alu.masks.push(EXEC);
        }
        alu.modifiers = self.modifiers(operation, dsts, sources)?;
        self.step.run = alu.step_function();
        self.step.detail = Detail::Alu(Box::new(alu));
        Ok(())
    }

    /// Arithmetic without modifiers.
    fn alu(
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
            match self.target(operand) {
                Target::Vector(row) => {
                    let rows = operation.dst.map_or(0, Type::rows);
                    if rows > usize::from(operand.kind.registers()) {
                        return Err(self.unsupported());
                    }
                    alu.dst = row;
                }
                Target::Scalar(number) => alu.masks.push(number),
                Target::None => {}
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

    fn packed(&mut self, op: PackedOp) -> Result<()> {
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
        let Target::Vector(dst) = self.target(dst) else {
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

    fn dual(&mut self) -> Result<()> {
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
        self.step.run = dual;
        Ok(())
    }

    /// The modifiers of vector arithmetic, if there are any.
    fn modifiers(
        &self,
        operation: &alu::Operation,
        dsts: &[Operand],
        sources: &[Operand],
    ) -> Result<Option<Box<AluModifiersOf>>> {
        let Modifiers::Alu(given) = &self.inst.modifiers else {
            return Ok(None);
        };
        let mut all = AluModifiersOf::default();
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
        let is_default = all == AluModifiersOf::default();
        Ok((!is_default).then(|| Box::new(all)))
    }

    fn placement(
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

    fn lds(&mut self, op: LdsOp) -> Result<()> {
        let Modifiers::Lds(modifiers) = self.inst.modifiers else {
            return Err(self.unsupported());
        };
        if modifiers.gds {
            return Err(self.unsupported());
        }
        let row = op.row();
        let name = row.name;
        let is_double = name.contains("_2addr_");
        // Names of accesses with two addresses end with the element.
        let plain = name.replace("_2addr", "").replace("_stride64", "");
        let action = access::action(&plain, false).ok_or_else(|| self.unsupported())?;
        let Some(Kind::Addr) = row.src.first() else {
            return Err(self.unsupported());
        };
        let scale = match action {
            _ if !is_double => 1,
            action if name.contains("stride64") => 64 * i64::from(action.bytes()),
            action => action.bytes().into(),
        };
        let offset = i64::from(modifiers.offset);
        let offsets = match is_double {
            true => [(offset & 0xff) * scale, (offset >> 8) * scale],
            // No second offset.
            false => [offset, -1],
        };
        let [address, data @ ..] = self.sources() else {
            return Err(self.unsupported());
        };
        let mut data = data.to_vec();
        // `ds_cmpst_*` has the expected value first.
        if name.starts_with("ds_cmpst_") {
            data.reverse();
        }
        self.step.src[0] = self.source(address, Type::U32)?;
        let rows = data.iter().map(|operand| match self.target(operand) {
            Target::Vector(row) => row,
            Target::Scalar(_) | Target::None => 0,
        });
        let rows: Vec<u16> = rows.collect();
        self.access(Access {
            action,
            data: rows.first().copied().unwrap_or(0),
            second: rows.get(1).copied().unwrap_or(0),
            offsets,
            segment: Segment::Flat,
            hits_caches: false,
            idxen: false,
            offen: false,
        });
        if !row.dst.is_empty() {
            self.step.dst = self.target(&self.inst.operands[0]);
        }
        self.step.run = lds::run;
        Ok(())
    }

    fn access(&mut self, access: Access) {
        self.step.detail = Detail::Access(Box::new(access));
    }

    /// Whether a load with this policy may find old content in caches of the compute unit. Source: LLVM,
    /// "User Guide for AMDGPU Backend", memory model of each architecture.
    fn hits_caches(&self, cache: CachePolicy) -> bool {
        match cache {
            // On gfx942 `glc` and `scc` are `sc0` and `sc1`, which choose a scope together.
            CachePolicy::Bits { scc, .. } if self.inst.target.arch == Arch::Gfx942 => !scc,
            CachePolicy::Bits { glc, .. } => !glc,
            CachePolicy::Hint { scope, .. } => scope < DEVICE_SCOPE,
        }
    }

    /// Vector caches of the compute unit that an instruction invalidates.
    fn invalidated(&self, cache: CachePolicy) -> [bool; 2] {
        match (self.row().name, cache) {
            ("buffer_wbinvl1" | "buffer_wbinvl1_vol", _) => [true; 2],
            ("buffer_gl0_inv", _) => [true, false],
            ("buffer_gl1_inv", _) => [false, true],
            ("buffer_inv", CachePolicy::Bits { scc, .. }) => [scc; 2],
            ("flat_inv" | "flat_wbinv", CachePolicy::Hint { scope, .. }) => {
                [scope >= DEVICE_SCOPE; 2]
            }
            _ => [false; 2],
        }
    }

    /// Scope of a write-back by an instruction on caches.
    fn writes_back(&self, cache: CachePolicy) -> Option<FenceScope> {
        match (self.row().name, cache) {
            // On gfx942 `sc0` and `sc1` choose a scope together.
            ("buffer_wbl2", CachePolicy::Bits { glc, scc, .. })
                if self.inst.target.arch == Arch::Gfx942 =>
            {
                match (glc, scc) {
                    (true, true) => Some(FenceScope::System),
                    (false, true) => Some(FenceScope::Device),
                    (_, false) => None,
                }
            }
            ("buffer_wbl2", _) => Some(FenceScope::System),
            ("flat_wb" | "flat_wbinv", CachePolicy::Hint { scope, .. }) => match scope {
                SYSTEM_SCOPE => Some(FenceScope::System),
                DEVICE_SCOPE => Some(FenceScope::Device),
                _ => None,
            },
            _ => None,
        }
    }

    fn cache_effects(&self, cache: CachePolicy) -> CacheEffects {
        CacheEffects {
            invalidates: self.invalidated(cache),
            writes_back: self.writes_back(cache),
        }
    }

    fn flat(&mut self) -> Result<()> {
        let Modifiers::Memory(modifiers) = self.inst.modifiers else {
            return Err(self.unsupported());
        };
        let row = self.row();
        self.step.run = flat::run;
        if row.has(Flag::bare) {
            self.access(caches_access(self.cache_effects(modifiers.cache)));
            return Ok(());
        }
        if modifiers.lds || row.has(Flag::lds) || row.name.contains("addtid") {
            return Err(self.unsupported());
        }
        // Atomic operations that do not return the old value have no destination.
        let address_at = self
            .inst
            .operands
            .len()
            .checked_sub(match modifiers.segment {
                Segment::Flat => 1 + row.src.len(),
                Segment::Global | Segment::Scratch => 2 + row.src.len(),
            });
        let address_at = address_at.ok_or_else(|| self.unsupported())?;
        let returns = address_at > 0;
        let action = access::action(row.name, returns).ok_or_else(|| self.unsupported())?;
        if returns {
            self.step.dst = self.target(&self.inst.operands[0]);
        }
        self.step.src[0] = self.source(&self.inst.operands[address_at], Type::U64)?;
        if modifiers.segment != Segment::Flat
            && let Some(scalar) = self.inst.operands.last()
        {
            self.step.src[1] = self.source(scalar, Type::U64)?;
        }
        let data = match (row.src.is_empty(), self.inst.operands.get(address_at + 1)) {
            (false, Some(operand)) => match self.target(operand) {
                Target::Vector(row) => row,
                Target::Scalar(_) | Target::None => 0,
            },
            _ => 0,
        };
        self.access(Access {
            action,
            data,
            second: data + words_of(action),
            offsets: [modifiers.offset.into(), -1],
            segment: modifiers.segment,
            hits_caches: self.hits_caches(modifiers.cache),
            idxen: false,
            offen: false,
        });
        Ok(())
    }

    fn buffer(&mut self) -> Result<()> {
        let Modifiers::Buffer(modifiers) = self.inst.modifiers else {
            return Err(self.unsupported());
        };
        let row = self.row();
        self.step.run = buffer::run;
        if row.has(Flag::bare) {
            self.step.run = flat::run;
            self.access(caches_access(self.cache_effects(modifiers.cache)));
            return Ok(());
        }
        if modifiers.lds || modifiers.tfe || modifiers.format.is_some() {
            return Err(self.unsupported());
        }
        let [data, address, resource, offset] = self.inst.operands.as_slice() else {
            return Err(self.unsupported());
        };
        // For atomic operations, a bit of the policy says whether they return the old value.
        let returns = row.has(Flag::atomic) && returns_old(modifiers.cache);
        let action = access::action(row.name, returns).ok_or_else(|| self.unsupported())?;
        self.step.src[0] = self.source(address, Type::U64)?;
        self.step.src[1] = self.source(resource, Type::U64)?;
        self.step.src[2] = self.source(offset, Type::U32)?;
        let target = self.target(data);
        if matches!(action, Action::Load(_) | Action::Atomic(_, _, true)) {
            self.step.dst = target;
        }
        let data = match target {
            Target::Vector(row) => row,
            Target::Scalar(_) | Target::None => 0,
        };
        self.access(Access {
            action,
            data,
            second: data + words_of(action),
            offsets: [modifiers.offset.into(), -1],
            segment: Segment::Flat,
            hits_caches: self.hits_caches(modifiers.cache),
            idxen: modifiers.idxen,
            offen: modifiers.offen,
        });
        Ok(())
    }
}

fn caches_access(effects: CacheEffects) -> Access {
    Access {
        action: Action::Caches(effects),
        data: 0,
        second: 0,
        offsets: [0, -1],
        segment: Segment::Global,
        hits_caches: false,
        idxen: false,
        offen: false,
    }
}

fn words_of(action: Action) -> u16 {
    action.bytes().div_ceil(4) as u16
}

fn returns_old(cache: crate::inst::CachePolicy) -> bool {
    use crate::inst::CachePolicy;
    match cache {
        CachePolicy::Bits { glc, .. } => glc,
        CachePolicy::Hint { temporal, .. } => temporal & 1 != 0,
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
            let exponent = (bits >> 23 & 0xff) - 127 + 15;
            u64::from(bits >> 31 << 15 | exponent << 10 | bits >> 13 & 0x3ff)
        }
    }
}
