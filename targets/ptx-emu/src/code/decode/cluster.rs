//! Clusters, and what else `sm_90` has for whole blocks. Source: the PTX ISA, "barrier.cluster",
//! "mapa", "getctarank", "setmaxnreg".

use super::modifiers::Modifiers;
use super::moves::space_named;
use super::{Decoder, Result, exactly};
use crate::alu::bits::truncate;
use crate::code::cluster::Cluster;
use crate::code::op::{Op, StateSpace};
use crate::text::ast::Operand;
use crate::text::error::TextError;
use crate::text::types::Type;

fn is_of_cluster(m: &mut Modifiers<'_>) -> bool {
    m.next(|part| (part == "cluster").then_some(())).is_some()
}

impl<'a> Decoder<'a> {
    /// Decodes an instruction of this file; false for others.
    pub(super) fn cluster(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<bool> {
        match name {
            "barrier" if is_of_cluster(m) => {
                let [] = exactly(operands)?;
                let op = match m.word()? {
                    "arrive" => Cluster::Arrive,
                    "wait" => Cluster::Wait,
                    other => return Err(TextError::name(format!(".{other}"), "is not known here")),
                };
                // All threads are of one block, whose accesses are in order.
                let order: &[&str] = match op {
                    Cluster::Arrive => &["release", "relaxed"],
                    _ => &["acquire"],
                };
                m.next(|part| order.contains(&part).then_some(()));
                m.take("aligned");
                self.push(Op::Cluster(Box::new(op)));
            }
            "mapa" => {
                let ty = shared_address(m)?;
                let [d, a, rank] = exactly(operands)?;
                let d = self.dst(d, ty.bits())?;
                let (a, rank) = (self.src(a, ty)?, self.src(rank, Type::U32)?);
                self.push(Op::Cluster(Box::new(Cluster::MapAddress { d, a, rank })));
            }
            "getctarank" => {
                let ty = shared_address(m)?;
                let [d, a] = exactly(operands)?;
                let d = self.dst(d, 32)?;
                self.src(a, ty)?;
                let f = truncate(32).ok_or(TextError::Rule("there is no such register"))?;
                let a = self.constant(0);
                self.push(Op::Un { f, d, a });
            }
            // Registers are not limited here.
            "setmaxnreg" => {
                let modifiers = m.rest();
                if !matches!(
                    modifiers.as_slice(),
                    ["inc" | "dec", "sync", "aligned", "u32"]
                ) {
                    return Err(TextError::Rule("there is no such form of it"));
                }
                match exactly(operands)? {
                    [Operand::Int(count)] if count % 8 == 0 && (24..=256).contains(count) => {}
                    _ => return Err(TextError::Rule("a multiple of 8 from 24 to 256 registers")),
                }
                self.push(Op::Nop);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The type of an address in shared memory: a generic one, or with a space one of 32 bits, too.
fn shared_address(m: &mut Modifiers<'_>) -> Result<Type> {
    let space = m.next(space_named);
    let ty = m.ty()?;
    let is_known = match space {
        None => ty == Type::U64,
        Some(space) => space == StateSpace::Shared && matches!(ty, Type::U32 | Type::U64),
    };
    if is_known {
        Ok(ty)
    } else {
        Err(TextError::Rule("there is no such form of it"))
    }
}
