//! Loads, stores, atomics, fences. Source: the PTX ISA, "Data Movement and Conversion
//! Instructions", "Parallel Synchronization and Communication Instructions" and "Memory
//! Consistency Model".

use super::caches::{CACHE_HINT, take_hints};
use super::modifiers::Modifiers;
use super::moves::space_named;
use super::{Decoder, Local, Result, Symbol, exactly};
use crate::code::op::{Address, Atom, AtomOp, Load, Op, Scope, Semantics, Src, StateSpace, Store};
use crate::text::ast::Operand;
use crate::text::error::TextError;
use crate::text::types::Type;

pub(super) fn scope_named(part: &str) -> Option<Scope> {
    Some(match part {
        "cta" => Scope::Cta,
        // Blocks of a cluster may be anywhere on the device.
        "cluster" | "gpu" => Scope::Gpu,
        "sys" => Scope::Sys,
        _ => return None,
    })
}

impl<'a> Decoder<'a> {
    /// Decodes an instruction of this file; false for others.
    pub(super) fn memory(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<bool> {
        match name {
            "ld" | "ldu" | "st" => self.access(name, m, operands),
            "atom" | "red" => self.atom(name, m, operands),
            "membar" | "fence" => self.fence(name, m, operands),
            "createpolicy" => self.policy(m, operands),
            "prefetch" | "prefetchu" | "applypriority" | "discard" => {
                self.caches(name, m, operands)
            }
            _ => return Ok(false),
        }
        .map(|()| true)
    }

    /// The order and the scope of a load or a store; `.relaxed` and stronger require a scope.
    fn ordering(name: &str, m: &mut Modifiers<'a>) -> Result<(Semantics, Scope)> {
        if matches!(name, "ld" | "st") && m.next(|part| (part == "mmio").then_some(())).is_some() {
            let is_relaxed = m.next(|part| (part == "relaxed").then_some(())).is_some();
            return match m.next(scope_named) {
                Some(Scope::Sys) if is_relaxed => Ok((Semantics::Volatile, Scope::Sys)),
                _ => Err(TextError::Rule("`.mmio` wants `.relaxed.sys`")),
            };
        }
        let semantics = m.next(|part| {
            Some(match (name, part) {
                ("ld" | "st", "weak") => Semantics::Weak,
                ("ld" | "st", "volatile") => Semantics::Volatile,
                ("ld" | "st", "relaxed") => Semantics::Relaxed,
                ("ld", "acquire") => Semantics::Acquire,
                ("st", "release") => Semantics::Release,
                _ => return None,
            })
        });
        let scope = m.next(scope_named);
        match (semantics, scope) {
            (None | Some(Semantics::Weak), None) => Ok((Semantics::Weak, Scope::Cta)),
            (Some(Semantics::Volatile), None) => Ok((Semantics::Volatile, Scope::Sys)),
            (None | Some(Semantics::Weak | Semantics::Volatile), Some(_)) => {
                Err(TextError::Rule("a scope without an ordering"))
            }
            (Some(semantics), Some(scope)) => Ok((semantics, scope)),
            (Some(_), None) => Err(TextError::Missing("the scope")),
        }
    }

    fn access(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<()> {
        // GCC's libgomp writes it before the ordering, which ptxas accepts.
        let before = m.next(|part| space_named(part).map(|_| part));
        let (semantics, scope) = Self::ordering(name, m)?;
        let word = before.or_else(|| m.next(|part| space_named(part).map(|_| part)));
        match (name, word) {
            ("st", Some("const")) => return Err(TextError::Rule("constants cannot be stored to")),
            ("ldu", Some(word)) if word != "global" => {
                return Err(TextError::LoadSpace(word.to_owned()));
            }
            _ => {}
        }
        let space = word.and_then(space_named);
        take_hints(name, m, semantics);
        let has_policy = name != "ldu" && m.take(CACHE_HINT);
        // The kernel promises that the memory is constant; that has no effect here.
        let is_constant = name == "ld" && m.take("nc");
        if is_constant && (word != Some("global") || semantics != Semantics::Weak) {
            return Err(TextError::Rule("`.nc` is for weak loads from `.global`"));
        }
        let count = m.next(|part| match part {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        });
        let ty = m.ty()?;
        if ty == Type::Pred || ty == Type::B128 || ty.is_of_instructions() {
            return Err(TextError::Rule("there is no such access for this type"));
        }
        let operands = self.without_policy(has_policy, space, operands)?;
        let [one, two] = exactly(operands)?;
        let (value, at) = if name == "st" { (two, one) } else { (one, two) };
        let at = self.address(at, space)?;
        let bytes = ty.bytes();
        if name == "st" {
            let sources = self.stored(value, ty, count)?.into();
            let store = Store {
                at,
                sources,
                bytes,
                semantics,
                scope,
            };
            self.push(Op::Store(Box::new(store)));
            return Ok(());
        }
        let regs = match count {
            Some(count) => self.vector(value, count)?,
            None => vec![self.reg(value)?],
        };
        let width = Self::common_width(&regs)?.unwrap_or(64);
        if width < ty.bits() {
            return Err(TextError::RegisterWidth {
                register: width,
                bits: ty.bits(),
            });
        }
        let ds: Vec<u32> = regs.iter().map(|&(reg, _)| reg).collect();
        let extend = if ty.is_signed() { width } else { 0 };
        let ds = ds.into();
        let load = Load {
            at,
            ds,
            bytes,
            extend,
            semantics,
            scope,
        };
        self.push(Op::Load(Box::new(load)));
        Ok(())
    }

    /// The stored values: registers, perhaps wider ones, or constants.
    pub(super) fn stored(
        &mut self,
        value: &'a Operand<'a>,
        ty: Type,
        count: Option<usize>,
    ) -> Result<Vec<Src>> {
        match (count, value) {
            (None, value) => Ok(vec![self.wide_src(value, ty)?]),
            (Some(count), Operand::Vector(list)) if list.len() == count => {
                list.iter().map(|value| self.wide_src(value, ty)).collect()
            }
            (Some(count), value) => {
                let regs = self.vector(value, count)?;
                match Self::common_width(&regs)? {
                    Some(width) if width == ty.bits() => {
                        Ok(regs.iter().map(|&(reg, _)| Src(reg)).collect())
                    }
                    _ => Err(TextError::Rule("a vector of another type")),
                }
            }
        }
    }

    /// Where `[..]` is. A space that is not named is the generic one, whatever the name
    /// in brackets would say by itself.
    pub(super) fn address(
        &mut self,
        operand: &'a Operand<'a>,
        space: Option<StateSpace>,
    ) -> Result<Address> {
        let Operand::Address(base, offset) = operand else {
            return Err(TextError::Expected("an address in brackets"));
        };
        let (base, offset) = (*base, *offset);
        let named = space.unwrap_or(StateSpace::Generic);
        let Some(name) = base else {
            return Ok(Address {
                space: named,
                base: None,
                offset,
            });
        };
        if let Some((reg, ty)) = self.register(name) {
            // Addresses of shared and local memory fit 32 bits.
            if !matches!(ty.bits(), 32 | 64) || ty == Type::Pred {
                return Err(TextError::name(name, "is no address"));
            }
            let space = match named {
                StateSpace::Param if !self.is_kernel => StateSpace::Local,
                other => other,
            };
            return Ok(Address {
                space,
                base: Some(Src(reg)),
                offset,
            });
        }
        if let Some(slot) = self.frame_slot(name) {
            return Ok(Address {
                space: StateSpace::Frame,
                base: None,
                offset: from(slot.offset.into(), offset)?,
            });
        }
        if let Some(Local::Param(slot)) = self.find(name) {
            return Ok(Address {
                space: StateSpace::Param,
                base: None,
                offset: from(slot.offset.into(), offset)?,
            });
        }
        match self.resolve.symbol(name) {
            Some(Symbol::Global(address)) => Ok(Address {
                space: named,
                base: None,
                offset: address.wrapping_add_signed(offset) as i64,
            }),
            Some(Symbol::Shared(address)) => Ok(Address {
                space: StateSpace::Shared,
                base: None,
                offset: from(address as i64, offset)?,
            }),
            Some(_) => Err(TextError::name(name, "is a function")),
            None => Err(TextError::name(name, "is not declared, or defined nowhere")),
        }
    }

    fn atom(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<()> {
        // Without a word an atomic is relaxed at the device's scope.
        let semantics = m.find(|part| {
            Some(match (name, part) {
                (_, "relaxed") => Semantics::Relaxed,
                (_, "release") => Semantics::Release,
                // A reduction gives nothing to acquire by.
                ("atom", "acquire") => Semantics::Acquire,
                ("atom", "acq_rel") => Semantics::AcqRel,
                _ => return None,
            })
        });
        let scope = m.find(scope_named).unwrap_or(Scope::Gpu);
        let space = m.find(|part| match part {
            "global" | "shared" | "shared::cta" | "shared::cluster" => space_named(part),
            _ => None,
        });
        let op = m.word()?;
        let has_noftz = m.take("noftz");
        let has_policy = m.take(CACHE_HINT);
        let ty = m.ty()?;
        let is_half = matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
        if has_noftz != is_half {
            return Err(TextError::Rule(
                "`.noftz` is for 16-bit floats, and must be there",
            ));
        }
        if has_policy && op == "cas" {
            return Err(TextError::name(
                format!(".{CACHE_HINT}"),
                "is not for compare-and-swap",
            ));
        }
        let operands = self.without_policy(has_policy, space, operands)?;
        let op = atom_op(op, ty)
            .filter(|op| name == "atom" || !matches!(op, AtomOp::Exchange | AtomOp::CompareAndSwap))
            .ok_or(TextError::Rule("there is no such operation for this type"))?;
        let (d, operands) = if name == "atom" {
            let Some((d, rest)) = operands.split_first() else {
                return Err(TextError::Expected("operands"));
            };
            (Some(self.dst(d, ty.bits())?), rest)
        } else {
            (None, operands)
        };
        let (at, b, c) = match operands {
            [at, b] => (at, b, None),
            [at, b, c] => (at, b, Some(c)),
            _ => return Err(TextError::Expected("another number of operands")),
        };
        if (op == AtomOp::CompareAndSwap) != c.is_some() {
            return Err(TextError::Expected("another number of operands"));
        }
        let at = self.address(at, space)?;
        let b = self.src(b, ty)?;
        let c = c.map(|c| self.src(c, ty)).transpose()?;
        let atom = Atom {
            at,
            op,
            bytes: ty.bytes(),
            d,
            b,
            c,
            semantics: semantics.unwrap_or(Semantics::Relaxed),
            scope,
        };
        self.push(Op::Atom(Box::new(atom)));
        Ok(())
    }

    fn fence(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<()> {
        let [] = exactly(operands)?;
        let modifiers = m.rest();
        let (semantics, scope) = match (name, modifiers.as_slice()) {
            ("membar", ["gl"]) => (Semantics::Sc, Some(Scope::Gpu)),
            ("membar", [scope @ ("cta" | "sys")]) => (Semantics::Sc, scope_named(scope)),
            (
                "fence",
                ["proxy", "alias" | "async"]
                | [
                    "proxy",
                    "async",
                    "global" | "shared::cta" | "shared::cluster",
                ]
                | ["mbarrier_init", "release", "cluster"],
            ) => {
                // Proxies have no effect here, and one OS thread runs the block of a cluster.
                self.push(Op::Nop);
                return Ok(());
            }
            // The strongest by default.
            // libcu++ writes the scope first.
            ("fence", ["sc", scope] | [scope, "sc"] | [scope]) => {
                (Semantics::Sc, scope_named(scope))
            }
            ("fence", ["acq_rel", scope]) => (Semantics::AcqRel, scope_named(scope)),
            ("fence", ["acquire", scope]) => (Semantics::Acquire, scope_named(scope)),
            ("fence", ["release", scope]) => (Semantics::Release, scope_named(scope)),
            _ => return Err(TextError::Rule("there is no such form of it")),
        };
        let scope = scope.ok_or(TextError::Missing("the scope"))?;
        self.push(Op::Fence { semantics, scope });
        Ok(())
    }
}

/// The sum of where something is and an offset.
fn from(start: i64, offset: i64) -> Result<i64> {
    let sum = start.checked_add(offset);
    sum.ok_or(TextError::Offset(offset))
}

/// The operation of `atom` and `red` for a type.
pub(super) fn atom_op(name: &str, ty: Type) -> Option<AtomOp> {
    let is_word = matches!(ty.bits(), 32 | 64) && ty.is_int();
    Some(match (name, ty) {
        ("add", Type::F32) => AtomOp::AddF32,
        ("add", Type::F64) => AtomOp::AddF64,
        ("add", Type::F16) => AtomOp::AddF16,
        ("add", Type::F16x2) => AtomOp::AddF16x2,
        ("add", Type::Bf16) => AtomOp::AddBf16,
        ("add", Type::Bf16x2) => AtomOp::AddBf16x2,
        ("cas", Type::B16) => AtomOp::CompareAndSwap,
        _ if !is_word => return None,
        ("add", _) => AtomOp::Add,
        ("min", _) if ty.is_signed() => AtomOp::MinSigned,
        ("max", _) if ty.is_signed() => AtomOp::MaxSigned,
        ("min", _) => AtomOp::MinUnsigned,
        ("max", _) => AtomOp::MaxUnsigned,
        ("and", _) => AtomOp::And,
        ("or", _) => AtomOp::Or,
        ("xor", _) => AtomOp::Xor,
        ("exch", _) => AtomOp::Exchange,
        ("cas", _) => AtomOp::CompareAndSwap,
        ("inc", Type::U32) => AtomOp::Increment,
        ("dec", Type::U32) => AtomOp::Decrement,
        _ => return None,
    })
}
