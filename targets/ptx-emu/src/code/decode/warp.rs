//! Collectives of a warp's lanes, and barriers of a block.

use super::memory::atom_op;
use super::modifiers::Modifiers;
use super::{Decoder, Result, exactly};
use crate::code::op::{Barrier, BarrierKind, Collective, CollectiveKind, Op, Pred, Shuffle};
use crate::text::ast::Operand;
use crate::text::error::TextError;
use crate::text::types::Type;

/// The type, which must be one of these.
fn typed(m: &mut Modifiers<'_>, types: &[Type]) -> Result<Type> {
    let ty = m.ty()?;
    if !types.contains(&ty) {
        return Err(TextError::Rule(
            "there is no such instruction for this type",
        ));
    }
    Ok(ty)
}

impl<'a> Decoder<'a> {
    /// Decodes an instruction of this file; false for others.
    pub(super) fn warp(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<bool> {
        match name {
            "bar" | "barrier" => self.barrier(m, operands),
            "shfl" => self.shuffle(m, operands),
            "vote" => self.vote(m, operands),
            "match" => self.matching(m, operands),
            "redux" => self.reduce(m, operands),
            "elect" => {
                if !m.take("sync") {
                    return Err(TextError::Missing("`.sync`"));
                }
                let [Operand::Pair(d, p), members] = exactly(operands)? else {
                    return Err(TextError::Expected("a register and a predicate"));
                };
                let d = self.dst(d, 32)?;
                let p = self.dst_pred(p)?.unwrap_or_else(|| self.new_pred());
                self.push_collective(CollectiveKind::Elect { d, p }, Some(members))
            }
            "activemask" => {
                typed(m, &[Type::B32])?;
                let [d] = exactly(operands)?;
                let d = self.dst(d, 32)?;
                self.push(Op::ActiveMask { d });
                Ok(())
            }
            _ => return Ok(false),
        }
        .map(|()| true)
    }

    fn new_pred(&mut self) -> Pred {
        self.preds += 1;
        self.preds - 1
    }

    fn push_collective(
        &mut self,
        kind: CollectiveKind,
        members: Option<&'a Operand<'a>>,
    ) -> Result<()> {
        let members = members
            .map(|members| self.src(members, Type::B32))
            .transpose()?;
        self.push(Op::Collective(Box::new(Collective { kind, members })));
        Ok(())
    }

    fn barrier(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<()> {
        if m.take("warp") {
            if !m.take("sync") {
                return Err(TextError::Missing("`.sync`"));
            }
            let [members] = exactly(operands)?;
            return self.push_collective(CollectiveKind::Sync, Some(members));
        }
        m.take("cta");
        m.take("aligned");
        if m.take("red") {
            return self.barrier_red(m, operands);
        }
        let kind = if m.take("arrive") {
            BarrierKind::Arrive
        } else if m.take("sync") {
            BarrierKind::Sync
        } else {
            return Err(TextError::Missing("`.sync`, `.arrive` or `.red`"));
        };
        let (number, count) = match operands {
            [number] => (number, None),
            [number, count] => (number, Some(count)),
            _ => return Err(TextError::Expected("1 or 2 operands")),
        };
        if kind == BarrierKind::Arrive && count.is_none() {
            return Err(TextError::Missing("the number of threads"));
        }
        self.push_barrier(kind, number, count)
    }

    fn barrier_red(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<()> {
        let op = m.word()?;
        typed(
            m,
            if op == "popc" {
                &[Type::U32]
            } else {
                &[Type::Pred]
            },
        )?;
        let (d, number, count, p) = match operands {
            [d, number, p] => (d, number, None, p),
            [d, number, count, p] => (d, number, Some(count), p),
            _ => return Err(TextError::Expected("3 or 4 operands")),
        };
        let p = self.pred_src(p)?;
        let kind = if op == "popc" {
            let d = self.dst(d, 32)?;
            BarrierKind::Count { d, p }
        } else {
            let d = self.dst_pred(d)?.unwrap_or_else(|| self.new_pred());
            match op {
                "and" => BarrierKind::All { d, p },
                "or" => BarrierKind::Any { d, p },
                _ => return Err(TextError::name(format!(".{op}"), "is not known here")),
            }
        };
        self.push_barrier(kind, number, count)
    }

    fn push_barrier(
        &mut self,
        kind: BarrierKind,
        number: &'a Operand<'a>,
        count: Option<&'a Operand<'a>>,
    ) -> Result<()> {
        let number = self.src(number, Type::U32)?;
        let count = count.map(|count| self.src(count, Type::U32)).transpose()?;
        self.push(Op::Barrier(Box::new(Barrier {
            kind,
            number,
            count,
        })));
        Ok(())
    }

    fn shuffle(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<()> {
        let sync = m.take("sync");
        let mode = m.find(|part| {
            Some(match part {
                "up" => Shuffle::Up,
                "down" => Shuffle::Down,
                "bfly" => Shuffle::Butterfly,
                "idx" => Shuffle::Index,
                _ => return None,
            })
        });
        let mode = mode.ok_or(TextError::Missing("the mode"))?;
        if m.ty()?.bits() != 32 {
            return Err(TextError::Rule("it takes .b32"));
        }
        let (to, a, b, c, members) = match (sync, operands) {
            (true, [to, a, b, c, members]) => (to, a, b, c, Some(members)),
            (false, [to, a, b, c]) => (to, a, b, c, None),
            _ => return Err(TextError::Expected("another number of operands")),
        };
        let (d, p) = match to {
            Operand::Pair(d, p) => (self.dst(d, 32)?, self.dst_pred(p)?),
            d => (self.dst(d, 32)?, None),
        };
        let (a, b, c) = (
            self.src(a, Type::B32)?,
            self.src(b, Type::B32)?,
            self.src(c, Type::B32)?,
        );
        self.push_collective(
            CollectiveKind::Shuffle {
                mode,
                d,
                p,
                a,
                b,
                c,
            },
            members,
        )
    }

    fn vote(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<()> {
        let sync = m.take("sync");
        let mode = m.word()?;
        typed(
            m,
            if mode == "ballot" {
                &[Type::B32]
            } else {
                &[Type::Pred]
            },
        )?;
        let (d, p, members) = match (sync, operands) {
            (true, [d, p, members]) => (d, p, Some(members)),
            (false, [d, p]) => (d, p, None),
            _ => return Err(TextError::Expected("another number of operands")),
        };
        let p = self.pred_src(p)?;
        let kind = if mode == "ballot" {
            let d = self.dst(d, 32)?;
            CollectiveKind::Ballot { d, p }
        } else {
            let d = self.dst_pred(d)?.unwrap_or_else(|| self.new_pred());
            match mode {
                "all" => CollectiveKind::All { d, p },
                "any" => CollectiveKind::Any { d, p },
                "uni" => CollectiveKind::Uniform { d, p },
                _ => return Err(TextError::name(format!(".{mode}"), "is not known here")),
            }
        };
        self.push_collective(kind, members)
    }

    fn matching(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<()> {
        let mode = m.word()?;
        if !m.take("sync") {
            return Err(TextError::Missing("`.sync`"));
        }
        let ty = typed(m, &[Type::B32, Type::B64])?;
        let [to, a, members] = exactly(operands)?;
        let a = self.src(a, ty)?;
        let kind = match (mode, to) {
            ("any", d) => CollectiveKind::MatchAny {
                d: self.dst(d, 32)?,
                a,
            },
            ("all", Operand::Pair(d, p)) => CollectiveKind::MatchAll {
                d: self.dst(d, 32)?,
                p: self.dst_pred(p)?,
                a,
            },
            ("all", d) => CollectiveKind::MatchAll {
                d: self.dst(d, 32)?,
                p: None,
                a,
            },
            _ => return Err(TextError::name(format!(".{mode}"), "is not known here")),
        };
        self.push_collective(kind, Some(members))
    }

    fn reduce(&mut self, m: &mut Modifiers<'a>, operands: &'a [Operand<'a>]) -> Result<()> {
        if !m.take("sync") {
            return Err(TextError::Missing("`.sync`"));
        }
        let op = m.word()?;
        let ty = m.ty()?;
        let op = Some(op)
            .filter(|op| ["add", "min", "max", "and", "or", "xor"].contains(op))
            .and_then(|op| atom_op(op, ty))
            .filter(|_| ty.bits() == 32 && !ty.is_float())
            .ok_or(TextError::Rule("there is no such operation for this type"))?;
        let [d, a, members] = exactly(operands)?;
        let (d, a) = (self.dst(d, 32)?, self.src(a, ty)?);
        self.push_collective(CollectiveKind::Reduce { op, d, a }, Some(members))
    }
}
