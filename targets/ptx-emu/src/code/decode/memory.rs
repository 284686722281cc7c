//! Loads, stores, atomics, fences. Source: the PTX ISA, "Data Movement and Conversion
//! Instructions", "Parallel Synchronization and Communication Instructions" and "Memory
//! Consistency Model".

use super::modifiers::Modifiers;
use super::moves::space_named;
use super::{Decoder, Local, Result, Symbol, exactly};
use crate::code::op::{Address, Atom, AtomOp, Load, Op, Scope, Semantics, Src, Store, Where};
use crate::text::ast::Operand;
use crate::text::types::Type;

/// Hints, which change nothing here.
fn is_hint(part: &str) -> bool {
    ["L1::", "L2::", "level::"]
        .iter()
        .any(|prefix| part.starts_with(prefix))
        || matches!(
            part,
            "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc" | "unified"
        )
}

fn scope_named(part: &str) -> Option<Scope> {
    Some(match part {
        "cta" => Scope::Cta,
        // Blocks of a cluster may be anywhere on the device.
        "cluster" | "gpu" => Scope::Gpu,
        "sys" => Scope::Sys,
        _ => return None,
    })
}

impl<'a> Decoder<'a> {
    /// Whether it is one of these.
    pub(super) fn memory(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<bool> {
        match name {
            "ld" | "ldu" | "st" => self.access(name, m, operands),
            "atom" | "red" => self.atom(name, m, operands),
            "membar" | "fence" => self.fence(name, m),
            "prefetch" | "prefetchu" | "applypriority" | "discard" => {
                // Of no consequence without caches; what it names must exist all the same.
                let space = m.find(space_named);
                while m.word().is_ok() {}
                let at = operands.first().ok_or("an address expected")?;
                self.address(at, space)?;
                self.push(Op::Nop);
                Ok(())
            }
            _ => return Ok(false),
        }
        .map(|()| true)
    }

    /// What an operation orders, and for whom; `.relaxed` and stronger want a scope.
    fn ordering(m: &mut Modifiers<'a>) -> Result<(Semantics, Scope)> {
        let semantics = m.next(|part| {
            Some(match part {
                "weak" => Semantics::Weak,
                "volatile" => Semantics::Volatile,
                "relaxed" => Semantics::Relaxed,
                "acquire" => Semantics::Acquire,
                "release" => Semantics::Release,
                "acq_rel" => Semantics::AcqRel,
                "mmio" => Semantics::Volatile,
                _ => return None,
            })
        });
        // `ld.mmio.relaxed.sys`
        let semantics = match semantics {
            Some(Semantics::Volatile) if m.take("relaxed") => Some(Semantics::Volatile),
            other => other,
        };
        let scope = m.next(scope_named);
        match (semantics, scope) {
            (None | Some(Semantics::Weak), None) => Ok((Semantics::Weak, Scope::Cta)),
            (Some(Semantics::Volatile), _) => Ok((Semantics::Volatile, Scope::Sys)),
            (Some(semantics), Some(scope)) => Ok((semantics, scope)),
            (Some(_), None) => Err("the scope is missing".to_owned()),
            (None, Some(_)) => Err("a scope without an ordering".to_owned()),
        }
    }

    fn access(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<()> {
        let (semantics, scope) = Self::ordering(m)?;
        let space = m.next(space_named);
        while m.find(|part| is_hint(part).then_some(())).is_some() {}
        let count = m.next(|part| match part {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        });
        let ty = m.ty()?;
        if ty == Type::Pred || ty == Type::B128 {
            return Err("there is no such access for this type".to_owned());
        }
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
            return Err(format!("a register of {width} bits for {}", ty.bits()));
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

    /// What is stored: registers, perhaps wider ones, or constants.
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
                    _ => Err("a vector of another type".to_owned()),
                }
            }
        }
    }

    /// Where `[..]` is. A space that is not named is the generic one, whatever the name
    /// in brackets would say by itself.
    fn address(&mut self, operand: &'a Operand<'a>, space: Option<Where>) -> Result<Address> {
        let Operand::Address(base, offset) = operand else {
            return Err("an address in brackets expected".to_owned());
        };
        let (base, offset) = (*base, *offset);
        let named = space.unwrap_or(Where::Generic);
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
                return Err(format!("`{name}` is no address"));
            }
            let space = match named {
                Where::Param if !self.is_kernel => Where::Local,
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
                space: Where::Frame,
                base: None,
                offset: from(slot.offset.into(), offset)?,
            });
        }
        if let Some(Local::Param(slot)) = self.find(name) {
            return Ok(Address {
                space: Where::Param,
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
                space: Where::Shared,
                base: None,
                offset: from(address as i64, offset)?,
            }),
            Some(_) => Err(format!("`{name}` is a function")),
            None => Err(format!("`{name}` is not declared, or defined nowhere")),
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
            Some(match part {
                "relaxed" => Semantics::Relaxed,
                "acquire" => Semantics::Acquire,
                "release" => Semantics::Release,
                "acq_rel" => Semantics::AcqRel,
                _ => return None,
            })
        });
        let scope = m.find(scope_named).unwrap_or(Scope::Gpu);
        let space = m.find(space_named);
        let op = m.word()?;
        m.take("noftz");
        let ty = m.ty()?;
        let op = atom_op(op, ty)
            .filter(|op| name == "atom" || !matches!(op, AtomOp::Exchange | AtomOp::CompareAndSwap))
            .ok_or("there is no such operation for this type")?;
        let (d, operands) = if name == "atom" {
            let Some((d, rest)) = operands.split_first() else {
                return Err("operands expected".to_owned());
            };
            (Some(self.dst(d, ty.bits())?), rest)
        } else {
            (None, operands)
        };
        let (at, b, c) = match operands {
            [at, b] => (at, b, None),
            [at, b, c] => (at, b, Some(c)),
            _ => return Err("another number of operands expected".to_owned()),
        };
        if (op == AtomOp::CompareAndSwap) != c.is_some() {
            return Err("another number of operands expected".to_owned());
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

    fn fence(&mut self, name: &str, m: &mut Modifiers<'a>) -> Result<()> {
        if m.take("proxy") {
            // There is one way to memory here.
            while m.word().is_ok() {}
            self.push(Op::Nop);
            return Ok(());
        }
        let semantics = m.next(|part| {
            Some(match part {
                "sc" => Semantics::Sc,
                "acq_rel" => Semantics::AcqRel,
                "acquire" => Semantics::Acquire,
                "release" => Semantics::Release,
                _ => return None,
            })
        });
        let scope = m.next(|part| match part {
            "gl" => Some(Scope::Gpu),
            _ => scope_named(part),
        });
        let scope = scope.ok_or_else(|| "the scope is missing".to_owned())?;
        // `membar` is the strongest fence; so is `fence` unless it says otherwise.
        let semantics = match (name, semantics) {
            ("membar", _) | (_, None) => Semantics::Sc,
            (_, Some(semantics)) => semantics,
        };
        self.push(Op::Fence { semantics, scope });
        Ok(())
    }
}

/// The sum of where something is and an offset.
fn from(start: i64, offset: i64) -> Result<i64> {
    let sum = start.checked_add(offset);
    sum.ok_or_else(|| format!("offset {offset} is too large"))
}

/// The operation of `atom` and `red` for a type.
pub(super) fn atom_op(name: &str, ty: Type) -> Option<AtomOp> {
    let is_word = matches!(ty.bits(), 32 | 64) && ty.is_int();
    Some(match (name, ty) {
        ("add", Type::F32) => AtomOp::AddF32,
        ("add", Type::F64) => AtomOp::AddF64,
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
