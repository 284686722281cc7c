//! Branches, calls, ends.

use super::modifiers::Modifiers;
use super::{Decoder, Local, Result, Symbol, exactly};
use crate::code::op::{Call, Callee, Op, Slot};
use crate::text::ast::Operand;
use crate::text::types::Type;

impl<'a> Decoder<'a> {
    /// Whether it is one of these.
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
                    return Err("`.idx` is missing".to_owned());
                }
                let [index, targets] = exactly(operands)?;
                let targets = plain(targets)?;
                let Some(Local::Targets(labels)) = self.find(targets).cloned() else {
                    return Err(format!("`{targets}` is no list of targets"));
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
                self.push(Op::Return);
            }
            "exit" => {
                let [] = exactly(operands)?;
                self.push(Op::Exit);
            }
            "trap" => {
                let [] = exactly(operands)?;
                self.push(Op::Trap);
            }
            // Counters of profilers and debuggers, which nobody reads here.
            "brkpt" | "pmevent" => {
                m.take("mask");
                self.push(Op::Nop);
            }
            "nanosleep" => {
                if m.ty()? != Type::U32 {
                    return Err("it takes .u32".to_owned());
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
            return Err("a function expected".to_owned());
        };
        let (arguments, rest) = match rest {
            [Operand::List(arguments), rest @ ..] => (arguments.as_slice(), rest),
            _ => (&[][..], rest),
        };
        let results = self.pieces(results)?;
        let arguments = self.pieces(arguments)?;
        let (callee, params, returns) = if let Some((reg, ty)) = self.register(callee) {
            let [Operand::Name(prototype)] = rest else {
                return Err("a prototype expected".to_owned());
            };
            let Some(Local::Prototype(params, returns)) = self.find(prototype).cloned() else {
                return Err(format!("`{prototype}` is no prototype"));
            };
            if ty.bits() != 64 {
                return Err(format!("`{callee}` is no address"));
            }
            (Callee::Address(crate::code::op::Src(reg)), params, returns)
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
                Some(_) => return Err(format!("`{callee}` is no function")),
                None => return Err(format!("`{callee}` is not declared, or defined nowhere")),
            }
        };
        let sizes = |slots: &[Slot]| slots.iter().map(|slot| slot.bytes).collect::<Vec<_>>();
        if sizes(&arguments) != params || sizes(&results) != returns {
            return Err(format!(
                "called with parameters of {:?} bytes and results of {:?}, but it takes {params:?} \
                 and returns {returns:?}",
                sizes(&arguments),
                sizes(&results)
            ));
        }
        self.push(Op::Call(Box::new(Call {
            callee,
            arguments: arguments.into(),
            results: results.into(),
        })));
        Ok(())
    }

    fn pieces(&self, operands: &[Operand<'_>]) -> Result<Vec<Slot>> {
        operands
            .iter()
            .map(|operand| match operand {
                Operand::Name(name) => self
                    .frame_slot(name)
                    .ok_or_else(|| format!("`{name}` is no parameter")),
                _ => Err("a parameter expected".to_owned()),
            })
            .collect()
    }
}

fn plain<'a>(operand: &Operand<'a>) -> Result<&'a str> {
    match operand {
        Operand::Name(name) => Ok(name),
        _ => Err("a name expected".to_owned()),
    }
}
