//! Moving and selecting values, addresses of spaces.

use super::modifiers::Modifiers;
use super::{Decoder, Local, Result, exactly};
use crate::alu::{bits, compare};
use crate::code::op::{Op, Reg, StateSpace};
use crate::text::ast::Operand;
use crate::text::error::TextError;
use crate::text::types::Type;

impl<'a> Decoder<'a> {
    /// Decodes an instruction of this file; false for others.
    pub(super) fn moves(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<bool> {
        match name {
            "mov" => self.mov(m, operands),
            "selp" => {
                let ty = m.ty()?;
                let [d, a, b, p] = exactly(operands)?;
                let d = self.dst(d, ty.bits())?;
                let (a, b, p) = (self.src(a, ty)?, self.src(b, ty)?, self.pred_src(p)?);
                self.push(Op::Select { d, a, b, p });
                Ok(())
            }
            "slct" => {
                let ftz = m.take("ftz");
                let (ty, by) = (m.ty()?, m.ty()?);
                if !matches!(by, Type::S32 | Type::F32) {
                    return Err(TextError::Rule("it selects by .s32 or .f32"));
                }
                let f =
                    compare::compare("ge", by, ftz).ok_or(TextError::Rule("`.ftz` is for .f32"))?;
                let [d, a, b, c] = exactly(operands)?;
                let d = self.dst(d, ty.bits())?;
                let (a, b, c) = (self.src(a, ty)?, self.src(b, ty)?, self.src(c, by)?);
                let zero = self.constant(0);
                self.push(Op::SelectBySign {
                    f,
                    d,
                    a,
                    b,
                    c,
                    zero,
                });
                Ok(())
            }
            "cvta" => self.cvta(m, operands),
            "isspacep" => {
                let space = m.next(space_named).ok_or(TextError::Missing("a space"))?;
                let [p, a] = exactly(operands)?;
                let a = self.src(a, Type::U64)?;
                if let Some(p) = self.dst_pred(p)? {
                    self.push(Op::IsSpace { p, a, space });
                }
                Ok(())
            }
            _ => return Ok(false),
        }
        .map(|()| true)
    }

    fn mov(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<()> {
        let [d, a] = exactly(operands)?;
        let elements = m.next(|part| match part {
            "v2" => Some(2),
            "v4" => Some(4),
            _ => None,
        });
        let ty = m.ty()?;
        if let Some(count) = elements {
            let ds = self.vector(d, count)?;
            if Self::common_width(&ds)?.is_some_and(|width| width != ty.bits()) {
                return Err(TextError::Rule("a vector of another type"));
            }
            let sources = self.stored(a, ty, Some(count))?;
            for ((d, _), a) in ds.into_iter().zip(sources) {
                let f =
                    bits::truncate(ty.bits()).ok_or(TextError::Rule("there is no such vector"))?;
                self.push(Op::Un { f, d, a });
            }
            return Ok(());
        }
        if ty == Type::Pred {
            let a = self.pred_src(a)?;
            if let Some(d) = self.dst_pred(d)? {
                self.push(Op::PredMove { d, a });
            }
            return Ok(());
        }
        if let Some(regs) = self.whole_vector(d, ty)? {
            let a = self.src(a, ty)?;
            let bits = ty.bits() / regs.len() as u32;
            let ds = regs.into();
            self.push(Op::Unpack { ds, a, bits });
            return Ok(());
        }
        if let Some(regs) = self.whole_vector(a, ty)? {
            let d = self.dst(d, ty.bits())?;
            let bits = ty.bits() / regs.len() as u32;
            let sources = regs.into_iter().map(crate::code::op::Src).collect();
            self.push(Op::Pack { d, sources, bits });
            return Ok(());
        }
        match (d, a) {
            (Operand::Vector(list), a) => {
                let part = Self::part(ty, list.len())?;
                let a = self.src(a, ty)?;
                let mut ds = Vec::new();
                for d in list {
                    ds.push(self.dst(d, part.bits())?);
                }
                let ds = ds.into();
                self.push(Op::Unpack {
                    ds,
                    a,
                    bits: part.bits(),
                });
            }
            (d, Operand::Vector(list)) => {
                let part = Self::part(ty, list.len())?;
                let d = self.dst(d, ty.bits())?;
                let mut sources = Vec::new();
                for a in list {
                    sources.push(self.src(a, part)?);
                }
                let sources = sources.into();
                self.push(Op::Pack {
                    d,
                    sources,
                    bits: part.bits(),
                });
            }
            (d, a) => {
                let d = self.dst(d, ty.bits())?;
                if let Some(what) = self.special(a) {
                    self.push(Op::Special { d, what });
                    return Ok(());
                }
                let a = self.src(a, ty)?;
                let f = bits::truncate(ty.bits())
                    .ok_or(TextError::Rule("there is no such register"))?;
                self.push(Op::Un { f, d, a });
            }
        }
        Ok(())
    }

    /// The registers of a vector by name that is one value of type `ty`, which GCC writes
    /// for its elements in braces; `None` for other operands.
    fn whole_vector(&self, operand: &Operand<'_>, ty: Type) -> Result<Option<Vec<u32>>> {
        let Operand::Name(name) = operand else {
            return Ok(None);
        };
        let Some(Local::Elements(regs, found)) = self.find(name) else {
            return Ok(None);
        };
        if Self::part(ty, regs.len())?.bits() != found.bits() {
            return Err(TextError::VectorWidth {
                name: (*name).to_owned(),
                bits: ty.bits(),
            });
        }
        Ok(Some(regs.clone()))
    }

    /// The type of one of `count` parts.
    fn part(ty: Type, count: usize) -> Result<Type> {
        match (ty.bits(), count) {
            (16, 2) => Ok(Type::B8),
            (32, 2) => Ok(Type::B16),
            (64, 2) => Ok(Type::B32),
            (32, 4) => Ok(Type::B8),
            (64, 4) => Ok(Type::B16),
            _ => Err(TextError::Parts {
                bits: ty.bits(),
                count,
            }),
        }
    }

    /// The registers of a vector, which is one by name or several in braces.
    pub(super) fn vector(&self, operand: &Operand<'_>, count: usize) -> Result<Vec<(Reg, Type)>> {
        let regs: Vec<_> = match operand {
            Operand::Vector(list) => list
                .iter()
                .map(|operand| self.reg(operand))
                .collect::<Result<_>>()?,
            Operand::Name(name) => match self.find(name) {
                Some(Local::Elements(regs, ty)) => regs.iter().map(|&reg| (reg, *ty)).collect(),
                _ => return Err(TextError::name(name, "is no vector")),
            },
            _ => return Err(TextError::Expected("a vector")),
        };
        if regs.len() != count {
            return Err(TextError::Found {
                expected: format!("a vector of {count}"),
                found: regs.len().to_string(),
            });
        }
        Ok(regs)
    }

    /// The width that the registers of a vector have; those called `_` have none.
    pub(super) fn common_width(regs: &[(Reg, Type)]) -> Result<Option<u32>> {
        let mut widths = regs
            .iter()
            .filter(|&&(reg, _)| reg != 0)
            .map(|(_, ty)| ty.bits());
        let first = widths.next();
        if widths.any(|width| Some(width) != first) {
            return Err(TextError::Rule("the registers of a vector have one width"));
        }
        Ok(first)
    }

    fn cvta(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<()> {
        let to_space = m.take("to");
        let space = m.next(space_named).ok_or(TextError::Missing("a space"))?;
        let ty = m.ty()?;
        if ty != Type::U64 {
            return Err(TextError::Rule("addresses have 64 bits"));
        }
        let [d, a] = exactly(operands)?;
        let (d, a) = (self.dst(d, 64)?, self.src(a, ty)?);
        // A function's parameters are in its frame, which is local memory.
        let space = match space {
            StateSpace::Param if !self.is_kernel => StateSpace::Local,
            other => other,
        };
        self.push(if to_space {
            Op::FromGeneric { d, a, space }
        } else {
            Op::ToGeneric { d, a, space }
        });
        Ok(())
    }
}

/// A space as modifiers name it.
pub(super) fn space_named(name: &str) -> Option<StateSpace> {
    Some(match name {
        "global" | "const" => StateSpace::Global,
        // A cluster has one block.
        "shared" | "shared::cta" | "shared::cluster" => StateSpace::Shared,
        "local" => StateSpace::Local,
        "param" | "param::entry" | "param::func" => StateSpace::Param,
        _ => return None,
    })
}
