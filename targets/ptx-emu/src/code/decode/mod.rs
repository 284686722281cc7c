//! Decoding functions: resolving names and opcodes.

mod arithmetic;
mod asynchronous;
mod caches;
mod cluster;
mod control;
mod matrix;
mod memory;
mod modifiers;
mod moves;
mod unsupported;
mod warp;

use std::collections::HashMap;

use self::modifiers::Modifiers;
use super::op::{
    Address, Instr, Load, Op, Pc, Pred, PredSrc, Reg, Scope as MemoryScope, Semantics, Slot,
    Special, Src, StateSpace, Store,
};
use super::{ControlRegisters, Function, flow};
use crate::text::ast::{self, Instruction, Operand, Space, StatementKind, Variable};
use crate::text::error::{AtLine, TextError};
use crate::text::types::Type;

/// The meaning of a name outside the function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Symbol {
    /// A variable in global or constant memory, at this address.
    Global(u64),
    /// A variable in shared memory, at this offset.
    Shared(u64),
    /// A function: its number and its address.
    Function(u32, u64),
    /// A function that the driver provides.
    System(super::op::System),
}

/// Finds names outside the function.
pub(crate) trait Resolve {
    /// The symbol of `name`.
    fn symbol(&self, name: &str) -> Option<Symbol>;
    /// Parameters and results of a function, by its number.
    fn signature(&self, function: u32) -> (&[Slot], &[Slot]);
}

/// The meaning of a name inside the function.
#[derive(Clone, Debug)]
enum Local<'a> {
    Reg(Reg, Type),
    /// A vector: `%v.x` is an element, `%v` all of it.
    Elements(Vec<Reg>, Type),
    /// Registers or predicates whose names differ by their numbers: the first, and how
    /// many.
    Numbered(u32, u32, Type),
    Pred(Pred),
    /// A parameter or a local variable.
    Frame(Slot),
    /// Parameters whose names differ by their numbers.
    Frames(Vec<Slot>),
    /// A parameter of the kernel.
    Param(Slot),
    Targets(Vec<&'a str>),
    Prototype(Vec<u32>, Vec<u32>),
}

type Result<T> = std::result::Result<T, TextError>;

struct Decoder<'a> {
    resolve: &'a dyn Resolve,
    scopes: Vec<Scope<'a>>,
    last_scope: u32,
    instrs: Vec<Instr>,
    /// Labels, by the scope that they are in.
    labels: HashMap<(u32, &'a str), Pc>,
    fixups: Vec<Fixup<'a>>,
    regs: u32,
    preds: u32,
    constants: Vec<u64>,
    known_constants: HashMap<u64, u32>,
    /// Bytes of the frame in use, and the most that ever were.
    frame: u32,
    largest_frame: u32,
    guard: Option<PredSrc>,
    line: u32,
    is_kernel: bool,
    has_clusters: bool,
    /// Results that are registers, and their slots for the caller.
    results: Vec<(Reg, Slot)>,
}

struct Scope<'a> {
    /// Unlike any other of the function.
    number: u32,
    names: HashMap<&'a str, Local<'a>>,
    frame: u32,
}

/// A branch whose labels may be further down.
struct Fixup<'a> {
    at: usize,
    labels: Vec<&'a str>,
    /// The scopes of labels, from the outermost inwards.
    scopes: Vec<u32>,
}

/// Most bytes of all parameters of a function, many more than on any device.
const MAX_PARAMETERS: u64 = 1 << 20;
/// Bytes of a frame.
const MAX_FRAME: u64 = 1 << 24;
/// Registers that a function may declare, and as many predicates: each has room in every
/// call.
const MAX_REGISTERS: u32 = 1 << 16;

/// The offset of `variable` if it is placed after `end`, in a space of `most` bytes.
fn behind(end: u32, variable: &Variable<'_>, align: u32, most: u64) -> Result<Slot> {
    let offset = u64::from(end).next_multiple_of(u64::from(align));
    // A size has 46 bits at most: the sum does not overflow.
    if offset + variable.bytes() > most {
        return Err(TextError::name(variable.name, "is too large"));
    }
    Ok(Slot {
        offset: offset as u32,
        bytes: variable.bytes() as u32,
    })
}

/// The place of a piece of the frame.
fn in_frame(slot: Slot) -> Address {
    Address {
        space: StateSpace::Frame,
        base: None,
        offset: slot.offset.into(),
    }
}

fn outside_param(variable: &Variable<'_>) -> TextError {
    TextError::name(variable.name, "is not in the space .param")
}

/// Sizes of parameters in a space, one after the other.
fn layout(params: &[Variable<'_>]) -> Result<(Vec<Slot>, u32)> {
    let mut end = 0;
    let mut slots = Vec::new();
    for param in params {
        let slot = behind(end, param, param.align, MAX_PARAMETERS)?;
        end = slot.offset + slot.bytes;
        slots.push(slot);
    }
    Ok((slots, end))
}

/// Decodes a function that has a body.
///
/// # Errors
/// The line, and what is wrong there.
pub(crate) fn decode<'a>(
    function: &'a ast::Function<'a>,
    part: usize,
    resolve: &'a dyn Resolve,
) -> std::result::Result<Function, AtLine> {
    let mut decoder = Decoder {
        resolve,
        scopes: vec![Scope {
            number: 0,
            names: HashMap::new(),
            frame: 0,
        }],
        last_scope: 0,
        instrs: Vec::new(),
        labels: HashMap::new(),
        fixups: Vec::new(),
        // Register 0 is the destination `_`.
        regs: 1,
        preds: 0,
        constants: Vec::new(),
        known_constants: HashMap::new(),
        frame: 0,
        largest_frame: 0,
        guard: None,
        line: function.line,
        is_kernel: function.is_kernel,
        has_clusters: function.has_clusters,
        results: Vec::new(),
    };
    let (params, results) = decoder
        .parameters(function)
        .map_err(|what| (function.line, what))?;
    let mut sources = Vec::new();
    let mut last = None;
    for statement in function.body.iter().flatten() {
        decoder.line = statement.line;
        if let Some(source) = statement.source.filter(|source| last != Some(*source)) {
            last = Some(source);
            sources.push((decoder.instrs.len() as Pc, source));
        }
        decoder
            .statement(&statement.kind)
            .map_err(|what| (statement.line, what))?;
    }
    decoder.guard = None;
    decoder.push_return();
    decoder.patch()?;
    let meets = flow::reconvergence_points(&decoder.instrs);
    let preds = decoder.preds.max(1);
    let control_registers = ControlRegisters::of(&decoder.instrs, decoder.regs, preds);
    let function = Function {
        name: function.name.to_owned(),
        part,
        is_kernel: function.is_kernel,
        is_old: false,
        meets,
        control_registers,
        sources,
        instrs: decoder.instrs,
        regs: decoder.regs,
        preds,
        constants: decoder.constants,
        // Every call needs room, even without variables, so that recursion ends.
        frame: decoder.largest_frame.next_multiple_of(16).max(16),
        reqntid: function.reqntid,
        maxntid: function.maxntid,
        params,
        results,
    };
    function.check_operands();
    Ok(function)
}

impl<'a> Decoder<'a> {
    fn parameters(&mut self, function: &'a ast::Function<'a>) -> Result<(Vec<Slot>, Vec<Slot>)> {
        let (params, end) = layout(&function.params)?;
        if function.is_kernel {
            for (param, &slot) in function.params.iter().zip(&params) {
                if param.space != Space::Param {
                    return Err(outside_param(param));
                }
                self.name(param.name, Local::Param(slot))?;
            }
            return Ok((params, Vec::new()));
        }
        let mut results = Vec::new();
        self.take_frame(end);
        for (param, &slot) in function.params.iter().zip(&params) {
            if let Some(reg) = self.formal(param, slot)? {
                self.load_slot(reg, slot);
            }
        }
        for result in &function.results {
            let slot = self.slot(result)?;
            if let Some(reg) = self.formal(result, slot)? {
                self.results.push((reg, slot));
            }
            results.push(slot);
        }
        Ok((params, results))
    }

    /// A parameter or a result of a function; its register, if it is one.
    fn formal(&mut self, variable: &Variable<'a>, slot: Slot) -> Result<Option<Reg>> {
        match variable.space {
            Space::Param => self.name(variable.name, Local::Frame(slot))?,
            Space::Reg if variable.ty == Type::Pred => {
                let name = variable.name;
                return Err(TextError::PredicatePassed(name.to_owned()));
            }
            Space::Reg if slot.bytes == variable.ty.bytes() => {
                self.registers(variable.ty, 1, variable.name, None)?;
                return Ok(self.register(variable.name).map(|(reg, _)| reg));
            }
            _ => return Err(outside_param(variable)),
        }
        Ok(None)
    }

    /// Fills a register from the frame.
    fn load_slot(&mut self, reg: Reg, slot: Slot) {
        self.push(Op::Load(Box::new(Load {
            at: in_frame(slot),
            ds: [reg].into(),
            bytes: slot.bytes,
            extend: 0,
            semantics: Semantics::Weak,
            scope: MemoryScope::Cta,
        })));
    }

    fn store_slot(&mut self, source: Src, slot: Slot) {
        self.push(Op::Store(Box::new(Store {
            at: in_frame(slot),
            sources: [source].into(),
            bytes: slot.bytes,
            semantics: Semantics::Weak,
            scope: MemoryScope::Cta,
        })));
    }

    fn push_return(&mut self) {
        for (reg, slot) in self.results.clone() {
            self.store_slot(Src(reg), slot);
        }
        self.push(Op::Return);
    }

    fn name(&mut self, name: &'a str, local: Local<'a>) -> Result<()> {
        let scope = self.scopes.last_mut();
        match scope.and_then(|scope| scope.names.insert(name, local)) {
            None => Ok(()),
            Some(_) => Err(TextError::name(name, "is there twice")),
        }
    }

    /// The frame is in use up to there.
    fn take_frame(&mut self, end: u32) {
        self.frame = end;
        self.largest_frame = self.largest_frame.max(end);
    }

    /// Space for a value of `bytes` bytes.
    fn slot_of(&mut self, bytes: u32) -> Result<Slot> {
        let align = bytes.clamp(1, 16).next_power_of_two();
        let offset = self.frame.next_multiple_of(align);
        if u64::from(offset) + u64::from(bytes) > MAX_FRAME {
            return Err(TextError::Rule("the frame is too large"));
        }
        self.take_frame(offset + bytes);
        Ok(Slot { offset, bytes })
    }

    fn slot(&mut self, variable: &Variable<'_>) -> Result<Slot> {
        let slot = behind(self.frame, variable, variable.align.min(16), MAX_FRAME)?;
        self.take_frame(slot.offset + slot.bytes);
        Ok(slot)
    }

    fn find(&self, name: &str) -> Option<&Local<'a>> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.names.get(name))
    }

    fn statement(&mut self, statement: &'a StatementKind<'a>) -> Result<()> {
        match statement {
            StatementKind::Open => {
                let frame = self.frame;
                self.last_scope += 1;
                self.scopes.push(Scope {
                    number: self.last_scope,
                    names: HashMap::new(),
                    frame,
                });
            }
            StatementKind::Close => {
                if let Some(scope) = self.scopes.pop() {
                    self.frame = scope.frame;
                }
            }
            StatementKind::Registers { ty, vector, names } => {
                for &(name, count) in names {
                    self.registers(*ty, *vector, name, count)?;
                }
            }
            StatementKind::Variable(variable) => match variable.space {
                Space::Local | Space::Param => {
                    let slot = self.slot(variable)?;
                    self.name(variable.name, Local::Frame(slot))?;
                }
                // The module has placed them.
                _ => {}
            },
            StatementKind::Parameters { like, count } => {
                let mut slots = Vec::new();
                for _ in 0..*count {
                    slots.push(self.slot(like)?);
                }
                self.name(like.name, Local::Frames(slots))?;
            }
            StatementKind::Label(name) => {
                let scope = self.scopes.last().map_or(0, |scope| scope.number);
                let pc = self.instrs.len() as Pc;
                if self.labels.insert((scope, name), pc).is_some() {
                    return Err(TextError::LabelTwice((*name).to_owned()));
                }
            }
            StatementKind::Targets { name, labels } => {
                self.name(name, Local::Targets(labels.clone()))?;
            }
            StatementKind::Prototype {
                name,
                results,
                params,
            } => {
                let sizes = |list: &[Variable<'_>]| list.iter().map(|v| v.bytes() as u32).collect();
                self.name(name, Local::Prototype(sizes(params), sizes(results)))?;
            }
            StatementKind::Instruction(instruction) => {
                self.guard = match instruction.guard {
                    None => None,
                    Some((name, negated)) => {
                        let pred = self.pred(name)?;
                        Some(if negated {
                            PredSrc::Not(pred)
                        } else {
                            PredSrc::Is(pred)
                        })
                    }
                };
                self.instruction(instruction)
                    .map_err(|error| TextError::Instruction {
                        opcode: instruction.opcode.to_owned(),
                        error: Box::new(error),
                    })?;
            }
        }
        Ok(())
    }

    fn registers(
        &mut self,
        ty: Type,
        vector: u32,
        name: &'a str,
        count: Option<u32>,
    ) -> Result<()> {
        if vector > 1 && (ty == Type::Pred || count.is_some()) {
            return Err(TextError::name(name, "cannot be of a vector type"));
        }
        let taken = match ty {
            Type::Pred => &mut self.preds,
            _ => &mut self.regs,
        };
        let first = *taken;
        // Numbers of a name are fewer than 2^20, and what is taken is bounded.
        *taken += count.unwrap_or(vector);
        if *taken > MAX_REGISTERS {
            return Err(TextError::TooMany {
                count: u64::from(*taken),
                what: "registers of a function",
            });
        }
        // Names with numbers are looked up by their parts.
        match (ty, count) {
            (Type::Pred, None) => self.name(name, Local::Pred(first)),
            (_, None) if vector > 1 => {
                let elements = (first..first + vector).collect();
                self.name(name, Local::Elements(elements, ty))
            }
            (_, None) => self.name(name, Local::Reg(first, ty)),
            (_, Some(count)) => self.name(name, Local::Numbered(first, count, ty)),
        }
    }

    /// The offset in the frame of the parameter or local variable `name`.
    fn frame_slot(&self, name: &str) -> Option<Slot> {
        match self.find(name) {
            Some(Local::Frame(slot)) => return Some(*slot),
            Some(_) => return None,
            None => {}
        }
        let (base, number) = numbered(name)?;
        match self.find(base) {
            Some(Local::Frames(slots)) => slots.get(number as usize).copied(),
            _ => None,
        }
    }

    /// The register or predicate called `name`.
    fn register(&self, name: &str) -> Option<(Reg, Type)> {
        if name == "_" {
            return Some((0, Type::B64));
        }
        if let Some(local) = self.find(name) {
            return match local {
                Local::Reg(reg, ty) => Some((*reg, *ty)),
                Local::Pred(pred) => Some((*pred, Type::Pred)),
                _ => None,
            };
        }
        // `%v.x`
        if let Some((base, part)) = name.split_once('.') {
            let place = ["x", "y", "z", "w"].iter().position(|&axis| axis == part);
            let place = place.or_else(|| {
                ["r", "g", "b", "a"]
                    .iter()
                    .position(|&colour| colour == part)
            })?;
            return match self.find(base) {
                Some(Local::Elements(elements, ty)) => Some((*elements.get(place)?, *ty)),
                _ => None,
            };
        }
        let (base, number) = numbered(name)?;
        match self.find(base) {
            Some(&Local::Numbered(first, count, ty)) => {
                (number < u64::from(count)).then(|| (first + number as u32, ty))
            }
            _ => None,
        }
    }

    fn pred(&self, name: &str) -> Result<Pred> {
        match self.register(name) {
            Some((pred, Type::Pred)) => Ok(pred),
            _ => Err(TextError::name(name, "is no predicate")),
        }
    }

    fn push(&mut self, op: Op) {
        self.instrs.push(Instr {
            guard: self.guard,
            op,
            line: self.line,
        });
    }

    fn constant(&mut self, value: u64) -> Src {
        let next = self.constants.len() as u32;
        let index = *self.known_constants.entry(value).or_insert(next);
        if index == next {
            self.constants.push(value);
        }
        Src::constant(index)
    }

    fn new_reg(&mut self) -> Reg {
        self.regs += 1;
        self.regs - 1
    }

    /// The register that `operand` names, and its type.
    fn reg(&self, operand: &Operand<'_>) -> Result<(Reg, Type)> {
        match operand {
            Operand::Name(name) => match self.register(name) {
                Some((_, Type::Pred)) | None => Err(TextError::name(name, "is no register")),
                Some(found) => Ok(found),
            },
            _ => Err(TextError::Expected("a register")),
        }
    }

    /// The register for a result of `bits`.
    fn dst(&self, operand: &Operand<'_>, bits: u32) -> Result<Reg> {
        let (reg, ty) = self.reg(operand)?;
        if reg != 0 && ty.bits() != bits {
            return Err(TextError::ResultWidth {
                bits,
                register: ty.bits(),
            });
        }
        Ok(reg)
    }

    /// The predicate for a result; `_` is none.
    fn dst_pred(&self, operand: &Operand<'_>) -> Result<Option<Pred>> {
        match operand {
            Operand::Name("_") => Ok(None),
            Operand::Name(name) => self.pred(name).map(Some),
            _ => Err(TextError::Expected("a predicate")),
        }
    }

    fn pred_src(&self, operand: &Operand<'_>) -> Result<PredSrc> {
        match operand {
            Operand::Name("%is_explicit_cluster") => Ok(PredSrc::Const(self.has_clusters)),
            Operand::Name(name) => self.pred(name).map(PredSrc::Is),
            Operand::Not(name) => self.pred(name).map(PredSrc::Not),
            Operand::Int(value) => Ok(PredSrc::Const(*value != 0)),
            _ => Err(TextError::Expected("a predicate")),
        }
    }

    /// The special register that an operand names.
    fn special(&self, operand: &Operand<'_>) -> Option<Special> {
        match operand {
            Operand::Name(name) if self.register(name).is_none() => Special::named(name),
            _ => None,
        }
    }

    /// An operand of type `ty`.
    fn src(&mut self, operand: &'a Operand<'a>, ty: Type) -> Result<Src> {
        self.src_of(operand, ty, true)
    }

    /// An operand whose register may be wider.
    fn wide_src(&mut self, operand: &'a Operand<'a>, ty: Type) -> Result<Src> {
        self.src_of(operand, ty, false)
    }

    fn src_of(&mut self, operand: &'a Operand<'a>, ty: Type, exact: bool) -> Result<Src> {
        let bits = match operand {
            Operand::Name(name) => {
                if let Some((reg, found)) = self.register(name) {
                    if found == Type::Pred || reg == 0 {
                        return Err(TextError::name(name, "is no register"));
                    }
                    let fits = if exact {
                        found.bits() == ty.bits()
                    } else {
                        found.bits() >= ty.bits()
                    };
                    if !fits {
                        return Err(TextError::SourceWidth {
                            name: (*name).to_owned(),
                            bits: found.bits(),
                            expected: ty.bits(),
                        });
                    }
                    return Ok(Src(reg));
                }
                if *name == "WARP_SZ" {
                    32
                } else if let Some(what) = Special::named(name) {
                    let d = self.new_reg();
                    let guard = self.guard.take();
                    self.push(Op::Special { d, what });
                    self.guard = guard;
                    return Ok(Src(d));
                } else {
                    return self.address_of(name, 0);
                }
            }
            Operand::Sum(name, addend) => return self.address_of(name, *addend),
            Operand::Int(_) if matches!(ty, Type::F32 | Type::F64) => {
                return Err(TextError::Rule("a float expected, found an integer"));
            }
            Operand::Int(value) => *value,
            Operand::Single(bits) => match ty {
                Type::F64 => f64::from(f32::from_bits(*bits)).to_bits(),
                _ => u64::from(*bits),
            },
            Operand::Double(bits) => match ty {
                Type::F32 => u64::from((f64::from_bits(*bits) as f32).to_bits()),
                _ => *bits,
            },
            _ => return Err(TextError::Expected("a register or a constant")),
        };
        let bits = match ty.bits() {
            64 => bits,
            width => bits & ((1 << width.min(63)) - 1),
        };
        Ok(self.constant(bits))
    }

    /// The address of a variable or a function, in its own space.
    fn address_of(&mut self, name: &str, addend: i64) -> Result<Src> {
        if let Some(slot) = self.frame_slot(name) {
            let offset = addend.checked_add(i64::from(slot.offset));
            let offset = offset.and_then(|offset| u32::try_from(offset).ok());
            let offset = offset.ok_or(TextError::Rule("out of the frame"))?;
            let d = self.new_reg();
            let guard = self.guard.take();
            self.push(Op::FrameAddress { d, offset });
            self.guard = guard;
            return Ok(Src(d));
        }
        if let Some(Local::Param(slot)) = self.find(name) {
            let address = u64::from(slot.offset).wrapping_add_signed(addend);
            return Ok(self.constant(address));
        }
        match self.resolve.symbol(name) {
            Some(
                Symbol::Global(address) | Symbol::Shared(address) | Symbol::Function(_, address),
            ) => Ok(self.constant(address.wrapping_add_signed(addend))),
            Some(Symbol::System(_)) => Err(TextError::name(name, "has no address")),
            None => Err(TextError::name(name, "is not declared, or defined nowhere")),
        }
    }

    /// The next instruction is a branch to `labels`.
    fn goes_to(&mut self, labels: Vec<&'a str>) {
        let scopes = self.scopes.iter().map(|scope| scope.number).collect();
        let at = self.instrs.len();
        self.fixups.push(Fixup { at, labels, scopes });
    }

    fn patch(&mut self) -> std::result::Result<(), AtLine> {
        for Fixup { at, labels, scopes } in std::mem::take(&mut self.fixups) {
            let line = self.instrs[at].line;
            let mut found = Vec::new();
            for label in labels {
                let mut outwards = scopes.iter().rev();
                let pc = outwards.find_map(|&scope| self.labels.get(&(scope, label)));
                found.push(*pc.ok_or_else(|| (line, TextError::NoLabel(label.to_owned())))?);
            }
            match &mut self.instrs[at].op {
                Op::Branch { to } => *to = found[0],
                Op::BranchIndexed { to, .. } => *to = found.into(),
                _ => {}
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &'a Instruction<'a>) -> Result<()> {
        let (name, mut modifiers) = Modifiers::split(instruction.opcode);
        let operands = &instruction.operands;
        let known = self.arithmetic(name, &mut modifiers, operands)?
            || self.moves(name, &mut modifiers, operands)?
            || self.asynchronous(name, &mut modifiers, operands)?
            || self.cluster(name, &mut modifiers, operands)?
            || self.matrix(name, &mut modifiers, operands)?
            || self.memory(name, &mut modifiers, operands)?
            || self.control(name, &mut modifiers, operands)?
            || self.warp(name, &mut modifiers, operands)?;
        if !known {
            if let Some(family) = unsupported::family(name) {
                return Err(TextError::Unsupported(family));
            }
            return Err(TextError::Rule("this instruction is not known"));
        }
        modifiers.done()
    }
}

/// Exactly `N` operands.
fn exactly<'o, 'a, const N: usize>(operands: &'o [Operand<'a>]) -> Result<&'o [Operand<'a>; N]> {
    operands.try_into().map_err(|_| TextError::Found {
        expected: format!("{N} operands"),
        found: operands.len().to_string(),
    })
}

/// `name7` apart, as a name and a number.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[base.len()..];
    // `%r01` is not `%r1`.
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((base, digits.parse().ok()?))
}
