//! Asynchronous copies and `mbarrier` objects. Source: the PTX ISA, "Data Movement and Conversion
//! Instructions: Asynchronous copy" and "Parallel Synchronization and Communication Instructions:
//! mbarrier".

use super::caches::CACHE_HINT;
use super::memory::{atom_op, scope_named};
use super::modifiers::Modifiers;
use super::moves::space_named;
use super::{Decoder, Result, exactly};
use crate::alu::bits::and;
use crate::code::asynchronous::{
    Async, AsyncCopy, AsyncStore, BulkCopy, MbarrierOp, PENDING_BITS, Phase,
};
use crate::code::op::{Op, StateSpace};
use crate::text::ast::Operand;
use crate::text::error::TextError;
use crate::text::types::Type;

/// The modifier of operations whose bytes an `mbarrier` counts.
const COUNTS_BYTES: &str = "mbarrier::complete_tx::bytes";

fn is_asynchronous(m: &mut Modifiers<'_>) -> bool {
    m.next(|part| (part == "async").then_some(())).is_some()
}

/// Takes a name of shared memory, perhaps of the cluster's.
fn take_shared(m: &mut Modifiers<'_>) -> Option<StateSpace> {
    m.next(|part| space_named(part).filter(|&space| space == StateSpace::Shared))
}

fn take_global(m: &mut Modifiers<'_>) -> Option<StateSpace> {
    m.next(|part| (part == "global").then_some(StateSpace::Global))
}

impl<'a> Decoder<'a> {
    /// Decodes an instruction of this file; false for others.
    pub(super) fn asynchronous(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<bool> {
        let op = match name {
            "cp" => {
                if m.take("reduce") {
                    return Err(TextError::Unsupported("copies that are reductions"));
                }
                if !is_asynchronous(m) {
                    return Err(TextError::Missing("`.async`"));
                }
                self.copy(m, operands)?
            }
            "mbarrier" => self.mbarrier(m, operands)?,
            "st" | "red" if is_asynchronous(m) => Some(self.async_store(name, m, operands)?),
            _ => return Ok(false),
        };
        self.push(op.map_or(Op::Nop, |op| Op::Async(Box::new(op))));
        Ok(true)
    }

    /// `None` without an effect.
    fn copy(
        &mut self,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<Option<Async>> {
        let kind = m.word()?;
        Ok(Some(match kind {
            "commit_group" => {
                let [] = exactly(operands)?;
                Async::Commit
            }
            "wait_group" => {
                let pending = group_count(operands)?;
                Async::WaitGroup { pending }
            }
            "wait_all" => {
                let [] = exactly(operands)?;
                Async::WaitAll
            }
            "mbarrier" => {
                if !m.take("arrive") {
                    return Err(TextError::Missing("`.arrive`"));
                }
                let is_expected = m.take("noinc");
                let space = take_shared(m);
                if m.ty()? != Type::B64 {
                    return Err(TextError::Rule("an mbarrier object has .b64"));
                }
                let [at] = exactly(operands)?;
                let mbarrier = self.address(at, space)?;
                Async::ArriveAfterCopies {
                    mbarrier,
                    is_expected,
                }
            }
            "bulk" => return self.bulk(m, operands),
            "ca" | "cg" => Async::Copy(self.small_copy(kind, m, operands)?),
            _ => return Err(TextError::name(format!(".{kind}"), "is not known here")),
        }))
    }

    fn small_copy(
        &mut self,
        level: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<AsyncCopy> {
        let (to, from) = (take_shared(m), take_global(m));
        if to.is_none() || from.is_none() {
            return Err(TextError::Rule("it copies from `.global` to `.shared`"));
        }
        let has_policy = m.take(CACHE_HINT);
        m.find(|part| {
            ["L2::64B", "L2::128B", "L2::256B"]
                .contains(&part)
                .then_some(())
        });
        let operands = self.without_policy(has_policy, from, operands)?;
        let [to_at, from_at, size, rest @ ..] = operands else {
            return Err(TextError::Expected("3 or 4 operands"));
        };
        let bytes = match (level, size) {
            ("ca", Operand::Int(bytes @ (4 | 8 | 16))) | (_, Operand::Int(bytes @ 16)) => {
                *bytes as u32
            }
            ("ca", _) => return Err(TextError::Rule("it copies 4, 8 or 16 bytes")),
            _ => return Err(TextError::Rule("with `.cg` it copies 16 bytes")),
        };
        let (to, from) = (self.address(to_at, to)?, self.address(from_at, from)?);
        let (source_bytes, ignores_source) = match rest {
            [] => (None, None),
            [Operand::Not(_)] => (None, Some(self.pred_src(&rest[0])?)),
            [Operand::Name(name)] if self.pred(name).is_ok() => {
                (None, Some(self.pred_src(&rest[0])?))
            }
            [source_bytes] => (Some(self.src(source_bytes, Type::U32)?), None),
            _ => return Err(TextError::Expected("3 or 4 operands")),
        };
        Ok(AsyncCopy {
            to,
            from,
            bytes,
            source_bytes,
            ignores_source,
        })
    }

    fn bulk(
        &mut self,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<Option<Async>> {
        if m.take("commit_group") {
            let [] = exactly(operands)?;
            return Ok(Some(Async::BulkCommit));
        }
        if m.take("wait_group") {
            // Reading and writing are one here.
            m.take("read");
            let pending = group_count(operands)?;
            return Ok(Some(Async::BulkWaitGroup { pending }));
        }
        if m.take("prefetch") {
            let modifiers = m.rest();
            let has_policy = modifiers.last() == Some(&CACHE_HINT);
            if !matches!(
                modifiers.as_slice(),
                ["L2", "global"] | ["L2", "global", CACHE_HINT]
            ) {
                return Err(TextError::Unsupported("bulk copies of tensors"));
            }
            let operands = self.without_policy(has_policy, Some(StateSpace::Global), operands)?;
            let [from, bytes] = exactly(operands)?;
            self.address(from, Some(StateSpace::Global))?;
            self.src(bytes, Type::U32)?;
            return Ok(None);
        }
        if m.take("tensor") {
            return Err(TextError::Unsupported("bulk copies of tensors"));
        }
        if m.take("multicast::cluster") {
            return Err(TextError::Unsupported(
                "copies to several blocks of a cluster",
            ));
        }
        let to_space = take_shared(m).or_else(|| take_global(m));
        let from_space = take_shared(m).or_else(|| take_global(m));
        let is_counted = m.take(COUNTS_BYTES);
        let is_grouped = m.take("bulk_group");
        let has_policy = m.take(CACHE_HINT);
        let is_known = match (to_space, from_space) {
            (Some(StateSpace::Global), Some(StateSpace::Shared)) => is_grouped && !is_counted,
            (Some(StateSpace::Shared), Some(_)) => is_counted && !is_grouped,
            _ => false,
        };
        if !is_known {
            return Err(TextError::Rule("there is no such form of it"));
        }
        let operands = self.without_policy(has_policy, None, operands)?;
        let (to, from, bytes, mbarrier) = match operands {
            [to, from, bytes] if is_grouped => (to, from, bytes, None),
            [to, from, bytes, mbarrier] if is_counted => (to, from, bytes, Some(mbarrier)),
            _ => return Err(TextError::Expected("another number of operands")),
        };
        Ok(Some(Async::BulkCopy(BulkCopy {
            to: self.address(to, to_space)?,
            from: self.address(from, from_space)?,
            bytes: self.src(bytes, Type::U32)?,
            mbarrier: mbarrier
                .map(|at| self.address(at, Some(StateSpace::Shared)))
                .transpose()?,
        })))
    }

    fn async_store(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<Async> {
        match name {
            "st" => drop(m.take("weak")),
            _ => {
                m.take("relaxed");
                m.take("cluster");
            }
        }
        let space =
            take_shared(m).ok_or(TextError::Unsupported("asynchronous stores elsewhere"))?;
        if !m.take(COUNTS_BYTES) {
            return Err(TextError::Missing("`.mbarrier::complete_tx::bytes`"));
        }
        let count = m.next(|part| match part {
            "v2" => Some(2),
            "v4" => Some(4),
            _ => None,
        });
        let word = if name == "red" { Some(m.word()?) } else { None };
        let ty = m.ty()?;
        let op = match word {
            Some(word) => Some(
                atom_op(word, ty)
                    .ok_or(TextError::Rule("there is no such operation for this type"))?,
            ),
            None => None,
        };
        if !matches!(ty.bits(), 32 | 64) {
            return Err(TextError::Rule("there is no such access for this type"));
        }
        let [to, value, mbarrier] = exactly(operands)?;
        Ok(Async::Store(AsyncStore {
            to: self.address(to, Some(space))?,
            sources: self.stored(value, ty, count)?.into(),
            bytes: ty.bytes(),
            op,
            mbarrier: self.address(mbarrier, Some(space))?,
        }))
    }

    /// `None` if the instruction is not about an object.
    fn mbarrier(
        &mut self,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<Option<Async>> {
        let kind = m.word()?;
        let is_incomplete = m.take("noComplete");
        let has_bytes = kind.starts_with("arrive") && m.take("expect_tx");
        let is_parity = kind.ends_with("_wait") && m.take("parity");
        // All warps of a block run on one OS thread: an order within the block needs nothing more.
        m.next(|part| {
            ["release", "acquire", "relaxed"]
                .contains(&part)
                .then_some(())
        });
        m.next(|part| scope_named(part).filter(|_| matches!(part, "cta" | "cluster")));
        let space = take_shared(m);
        if m.ty()? != Type::B64 {
            return Err(TextError::Rule("an mbarrier object has .b64"));
        }
        if kind == "pending_count" {
            let [d, state] = exactly(operands)?;
            let (d, a) = (self.dst(d, 32)?, self.src(state, Type::B64)?);
            let b = self.constant((1 << PENDING_BITS) - 1);
            let f = and();
            self.push(Op::Bin { f, d, a, b });
            return Ok(None);
        }
        let (at, op) = match kind {
            "init" => {
                let [at, count] = exactly(operands)?;
                let count = self.src(count, Type::U32)?;
                (at, MbarrierOp::Init { count })
            }
            "inval" => {
                let [at] = exactly(operands)?;
                (at, MbarrierOp::Invalidate)
            }
            "arrive" | "arrive_drop" => {
                let (state, at, number) = match operands {
                    [state, at] => (Some(state), at, None),
                    [state, at, number] => (Some(state), at, Some(number)),
                    _ => return Err(TextError::Expected("2 or 3 operands")),
                };
                if number.is_none() && (has_bytes || is_incomplete) {
                    return Err(TextError::Expected("3 operands"));
                }
                let state = state.map(|state| self.dst(state, 64)).transpose()?;
                let number = number
                    .map(|number| self.src(number, Type::U32))
                    .transpose()?;
                let one = self.constant(1);
                let (count, expect_bytes) = if has_bytes {
                    (one, number)
                } else {
                    (number.unwrap_or(one), None)
                };
                let op = MbarrierOp::Arrive {
                    state: state.filter(|&state| state != 0),
                    count,
                    expect_bytes,
                    drops: kind == "arrive_drop",
                    is_incomplete,
                };
                (at, op)
            }
            "expect_tx" | "complete_tx" => {
                let [at, bytes] = exactly(operands)?;
                let bytes = self.src(bytes, Type::U32)?;
                let op = if kind == "expect_tx" {
                    MbarrierOp::ExpectBytes { bytes }
                } else {
                    MbarrierOp::CompleteBytes { bytes }
                };
                (at, op)
            }
            "test_wait" | "try_wait" => {
                let may_suspend = kind == "try_wait";
                let (p, at, phase) = match operands {
                    [p, at, phase] => (p, at, phase),
                    // For how long it may be suspended.
                    [p, at, phase, time] if may_suspend => {
                        self.src(time, Type::U32)?;
                        (p, at, phase)
                    }
                    _ => return Err(TextError::Expected("another number of operands")),
                };
                let p = self.dst_pred(p)?;
                let phase = if is_parity {
                    Phase::Parity(self.src(phase, Type::U32)?)
                } else {
                    Phase::State(self.src(phase, Type::B64)?)
                };
                let op = MbarrierOp::Test {
                    p,
                    phase,
                    may_suspend,
                };
                (at, op)
            }
            _ => return Err(TextError::name(format!(".{kind}"), "is not known here")),
        };
        let at = self.address(at, space)?;
        Ok(Some(Async::Mbarrier { at, op }))
    }
}

/// The number of groups that may be pending.
fn group_count(operands: &[Operand<'_>]) -> Result<u64> {
    let [Operand::Int(count)] = operands else {
        return Err(TextError::Expected("a number of groups"));
    };
    Ok(*count)
}
