//! Moving and selecting values, addresses of spaces.

use super::modifiers::Modifiers;
use super::{Decoder, Local, Result, exactly};
use crate::alu::{bits, compare};
use crate::code::op::{Op, Where};
use crate::text::ast::Operand;
use crate::text::types::Type;

impl<'a> Decoder<'a> {
    /// Whether it is one of these.
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
                    return Err("it selects by .s32 or .f32".to_owned());
                }
                let f = compare::compare("ge", by, ftz).ok_or("`.ftz` is for .f32")?;
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
                let space = m
                    .next(space_named)
                    .ok_or_else(|| "a space is missing".to_owned())?;
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
            let ds = self.vector(d, ty, count)?;
            let Operand::Vector(list) = a else {
                let sources = self.vector(a, ty, count)?;
                for (d, a) in ds.into_iter().zip(sources) {
                    let a = crate::code::op::Src(a);
                    self.push(Op::Un {
                        f: bits::copy(),
                        d,
                        a,
                    });
                }
                return Ok(());
            };
            if list.len() != count {
                return Err(format!("a vector of {count} expected"));
            }
            for (d, a) in ds.into_iter().zip(list) {
                let a = self.src(a, ty)?;
                self.push(Op::Un {
                    f: bits::copy(),
                    d,
                    a,
                });
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
                let f = bits::truncate(ty.bits()).ok_or("there is no such register")?;
                self.push(Op::Un { f, d, a });
            }
        }
        Ok(())
    }

    /// The type of one of `count` parts.
    fn part(ty: Type, count: usize) -> Result<Type> {
        match (ty.bits(), count) {
            (16, 2) => Ok(Type::B8),
            (32, 2) => Ok(Type::B16),
            (64, 2) => Ok(Type::B32),
            (32, 4) => Ok(Type::B8),
            (64, 4) => Ok(Type::B16),
            _ => Err(format!("{} bits have no {count} parts here", ty.bits())),
        }
    }

    /// The registers of a vector, which is one by name or several in braces.
    pub(super) fn vector(&self, operand: &Operand<'_>, ty: Type, count: usize) -> Result<Vec<u32>> {
        let regs = match operand {
            Operand::Vector(list) => list
                .iter()
                .map(|operand| self.reg(operand).map(|(reg, _)| reg))
                .collect::<Result<Vec<_>>>()?,
            Operand::Name(name) => match self.find(name) {
                Some(Local::Elements(regs, found)) if found.bits() == ty.bits() => regs.clone(),
                _ => return Err(format!("`{name}` is no vector of that type")),
            },
            _ => return Err("a vector expected".to_owned()),
        };
        if regs.len() != count {
            return Err(format!(
                "a vector of {count} expected, found {}",
                regs.len()
            ));
        }
        Ok(regs)
    }

    fn cvta(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<()> {
        let to_space = m.take("to");
        let space = m
            .next(space_named)
            .ok_or_else(|| "a space is missing".to_owned())?;
        let ty = m.ty()?;
        if ty != Type::U64 {
            return Err("addresses have 64 bits".to_owned());
        }
        let [d, a] = exactly(operands)?;
        let (d, a) = (self.dst(d, 64)?, self.src(a, ty)?);
        // A function's parameters are in its frame, which is local memory.
        let space = match space {
            Where::Param if !self.is_kernel => Where::Local,
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
pub(super) fn space_named(name: &str) -> Option<Where> {
    Some(match name {
        "global" | "const" => Where::Global,
        "shared" | "shared::cta" => Where::Shared,
        "local" => Where::Local,
        "param" | "param::entry" | "param::func" => Where::Param,
        _ => return None,
    })
}
