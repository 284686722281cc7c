//! Branches, calls, ends.

use super::modifiers::Modifiers;
use super::{Decoder, Local, Result, Symbol, exactly};
use crate::code::op::{Call, Callee, Op, Reg, Slot, Src};
use crate::text::ast::Operand;
use crate::text::error::TextError;
use crate::text::types::Type;

impl<'a> Decoder<'a> {
    /// Decodes an instruction of this file; false for others.
    pub(super) fn control(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<bool> {
        match name {
            "bra" => {
                m.take("uni");
                let [label] = exactly(operands)?;
                let label = plain(label)?;
                self.goes_to(vec![label]);
                self.push(Op::Branch { to: 0 });
            }
            "brx" => {
                m.take("uni");
                if !m.take("idx") {
                    return Err(TextError::Missing("`.idx`"));
                }
                let [index, targets] = exactly(operands)?;
                let targets = plain(targets)?;
                let Some(Local::Targets(labels)) = self.find(targets).cloned() else {
                    return Err(TextError::name(targets, "is no list of targets"));
                };
                let index = self.src(index, Type::U32)?;
                self.goes_to(labels);
                self.push(Op::BranchIndexed {
                    index,
                    to: Box::default(),
                });
            }
            "call" => {
                m.take("uni");
                self.call(operands)?;
            }
            "ret" => {
                m.take("uni");
                let [] = exactly(operands)?;
                self.push_return();
            }
            "exit" => {
                let [] = exactly(operands)?;
                self.push(Op::Exit);
            }
            "trap" => {
                let [] = exactly(operands)?;
                self.push(Op::Trap);
            }
            // Counters of profilers and debuggers, which are ignored.
            "brkpt" | "pmevent" => {
                m.take("mask");
                self.push(Op::Nop);
            }
            // A kernel begins here when those before it have ended.
            "griddepcontrol" => {
                let [] = exactly(operands)?;
                if !m.take("launch_dependents") && !m.take("wait") {
                    return Err(TextError::Missing("`.launch_dependents` or `.wait`"));
                }
                self.push(Op::Nop);
            }
            "nanosleep" => {
                if m.ty()? != Type::U32 {
                    return Err(TextError::Rule("it takes .u32"));
                }
                let [time] = exactly(operands)?;
                let nanoseconds = self.src(time, Type::U32)?;
                self.push(Op::Sleep { nanoseconds });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `call (results), function, (arguments), prototype`, each but the function perhaps
    /// not there.
    fn call(&mut self, operands: &'a [Operand<'a>]) -> Result<()> {
        let (results, operands) = match operands {
            [Operand::List(results), rest @ ..] => (results.as_slice(), rest),
            _ => (&[][..], operands),
        };
        let [Operand::Name(callee), rest @ ..] = operands else {
            return Err(TextError::Expected("a function"));
        };
        let (arguments, rest) = match rest {
            [Operand::List(arguments), rest @ ..] => (arguments.as_slice(), rest),
            _ => (&[][..], rest),
        };
        let (callee, params, returns) = if let Some((reg, ty)) = self.register(callee) {
            let [Operand::Name(prototype)] = rest else {
                return Err(TextError::Expected("a prototype"));
            };
            let Some(Local::Prototype(params, returns)) = self.find(prototype).cloned() else {
                return Err(TextError::name(prototype, "is no prototype"));
            };
            if ty.bits() != 64 {
                return Err(TextError::name(callee, "is no address"));
            }
            (Callee::Address(Src(reg)), params, returns)
        } else {
            match self.resolve.symbol(callee) {
                Some(Symbol::Function(number, _)) => {
                    let (params, returns) = self.resolve.signature(number);
                    let sizes = |slots: &[Slot]| slots.iter().map(|slot| slot.bytes).collect();
                    (Callee::Function(number), sizes(params), sizes(returns))
                }
                Some(Symbol::System(system)) => {
                    let (params, returns) = system.signature();
                    (Callee::System(system), params.to_vec(), returns.to_vec())
                }
                Some(_) => return Err(TextError::name(callee, "is no function")),
                None => {
                    return Err(TextError::name(
                        callee,
                        "is not declared, or defined nowhere",
                    ));
                }
            }
        };
        // Registers and constants are passed through .param variables that last for the call.
        let frame = self.frame;
        let of = |sizes: &[u32], at: usize| sizes.get(at).copied().unwrap_or(4);
        let mut passed = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            passed.push(self.argument(argument, of(&params, at))?);
        }
        let mut returned = Vec::new();
        let mut loads = Vec::new();
        for (at, result) in results.iter().enumerate() {
            let (slot, reg) = self.returned(result, of(&returns, at))?;
            returned.push(slot);
            loads.extend(reg.map(|reg| (reg, slot)));
        }
        let sizes = |slots: &[Slot]| slots.iter().map(|slot| slot.bytes).collect::<Vec<_>>();
        if sizes(&passed) != params || sizes(&returned) != returns {
            return Err(TextError::Signature {
                passed: sizes(&passed),
                returned: sizes(&returned),
                params,
                returns,
            });
        }
        self.push(Op::Call(Box::new(Call {
            callee,
            arguments: passed.into(),
            results: returned.into(),
        })));
        for (reg, slot) in loads {
            self.load_slot(reg, slot);
        }
        self.frame = frame;
        Ok(())
    }

    /// The location of an argument for a parameter of `bytes`: a variable of the space .param,
    /// a register or a number.
    fn argument(&mut self, operand: &'a Operand<'a>, bytes: u32) -> Result<Slot> {
        let (source, bytes) = match operand {
            Operand::Name(name) => {
                if let Some(slot) = self.frame_slot(name) {
                    return Ok(slot);
                }
                let (reg, bytes) = self.passed_register(name)?;
                (Src(reg), bytes)
            }
            _ if !matches!(bytes, 1 | 2 | 4 | 8) => {
                return Err(TextError::PassedInParam(bytes));
            }
            Operand::Int(_) => (self.src(operand, bits_of(bytes))?, bytes),
            Operand::Single(_) | Operand::Double(_) => {
                let ty = if bytes == 8 { Type::F64 } else { Type::F32 };
                (self.src(operand, ty)?, bytes)
            }
            _ => return Err(TextError::Expected("a parameter, a register or a number")),
        };
        let slot = self.slot_of(bytes)?;
        self.store_slot(source, slot);
        Ok(slot)
    }

    /// The location of a result of `bytes`, and the register that it is loaded into.
    fn returned(&mut self, operand: &Operand<'_>, bytes: u32) -> Result<(Slot, Option<Reg>)> {
        match operand {
            Operand::Name("_") => Ok((self.slot_of(bytes)?, None)),
            Operand::Name(name) => {
                if let Some(slot) = self.frame_slot(name) {
                    return Ok((slot, None));
                }
                let (reg, bytes) = self.passed_register(name)?;
                Ok((self.slot_of(bytes)?, Some(reg)))
            }
            _ => Err(TextError::Expected("a parameter or a register")),
        }
    }

    /// A register that a call passes, and its size.
    fn passed_register(&self, name: &str) -> Result<(Reg, u32)> {
        match self.register(name) {
            Some((reg, ty)) if reg != 0 && ty != Type::Pred => Ok((reg, ty.bytes())),
            Some((_, Type::Pred)) => Err(TextError::PredicatePassed(name.to_owned())),
            _ => Err(TextError::name(name, "is no parameter and no register")),
        }
    }
}

fn bits_of(bytes: u32) -> Type {
    match bytes {
        1 => Type::B8,
        2 => Type::B16,
        8 => Type::B64,
        _ => Type::B32,
    }
}

fn plain<'a>(operand: &Operand<'a>) -> Result<&'a str> {
    match operand {
        Operand::Name(name) => Ok(name),
        _ => Err(TextError::Expected("a name")),
    }
}
