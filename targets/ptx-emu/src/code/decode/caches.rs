//! Instructions and modifiers for caches, which have no effect here. Source: the PTX ISA, "Cache
//! Operators", "Cache Eviction Priority Hints", "createpolicy".

use super::modifiers::Modifiers;
use super::moves::space_named;
use super::{Decoder, Result, exactly};
use crate::alu::bits::truncate;
use crate::code::op::{Op, Semantics, StateSpace};
use crate::text::ast::Operand;
use crate::text::error::TextError;
use crate::text::types::Type;

/// The modifier for a cache policy as the last operand.
pub(super) const CACHE_HINT: &str = "L2::cache_hint";

impl<'a> Decoder<'a> {
    /// The operands but for a cache policy, which is the last; it changes nothing here.
    pub(super) fn without_policy(
        &mut self,
        is_there: bool,
        space: Option<StateSpace>,
        operands: &'a [Operand<'a>],
    ) -> Result<&'a [Operand<'a>]> {
        if !is_there {
            return Ok(operands);
        }
        if !matches!(space, None | Some(StateSpace::Global)) {
            return Err(TextError::name(
                format!(".{CACHE_HINT}"),
                "is for global memory",
            ));
        }
        let Some((policy, rest)) = operands.split_last() else {
            return Err(TextError::Missing("the cache policy"));
        };
        self.src(policy, Type::B64)?;
        Ok(rest)
    }

    /// Makes a cache policy, whose bits are opaque.
    pub(super) fn policy(
        &mut self,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<()> {
        let kind = m.word()?;
        if kind == "range" {
            m.take("global");
        }
        let level = |part: &'a str| part.starts_with("L2").then_some(part);
        let (first, second) = (m.next(level), m.next(level));
        if m.ty()? != Type::B64 {
            return Err(TextError::Rule("a policy has .b64"));
        }
        let primary = [
            "L2::evict_last",
            "L2::evict_normal",
            "L2::evict_first",
            "L2::evict_unchanged",
        ];
        let is_known = match (kind, first) {
            ("cvt", Some("L2")) => second.is_none(),
            ("fractional" | "range", Some(first)) => {
                let secondary = [None, Some("L2::evict_first"), Some("L2::evict_unchanged")];
                primary.contains(&first) && secondary.contains(&second)
            }
            _ => false,
        };
        if !is_known {
            return Err(TextError::Rule("there is no such form of it"));
        }
        let [d, rest @ ..] = operands else {
            return Err(TextError::Expected("operands"));
        };
        let d = self.dst(d, 64)?;
        let mut a = self.constant(0);
        match (kind, rest) {
            ("cvt", [property]) => a = self.src(property, Type::B64)?,
            ("fractional", []) => {}
            ("fractional", [fraction]) => drop(self.src(fraction, Type::F32)?),
            ("range", [at, primary, total]) => {
                self.address(at, Some(StateSpace::Global))?;
                self.src(primary, Type::B32)?;
                self.src(total, Type::B32)?;
            }
            _ => return Err(TextError::Expected("another number of operands")),
        }
        let f = truncate(64).ok_or(TextError::Rule("there is no such register"))?;
        self.push(Op::Un { f, d, a });
        Ok(())
    }

    /// No effect without caches; but its operands must exist.
    pub(super) fn caches(
        &mut self,
        name: &str,
        m: &mut Modifiers<'a>,
        operands: &'a [Operand<'a>],
    ) -> Result<()> {
        let modifiers = m.rest();
        if !is_about_caches(name, &modifiers) {
            return Err(TextError::Rule("there is no such form of it"));
        }
        let at = if name.starts_with("prefetch") {
            let [at] = exactly(operands)?;
            at
        } else {
            let [at, size] = exactly(operands)?;
            if *size != Operand::Int(128) {
                return Err(TextError::Rule("its size is 128"));
            }
            at
        };
        self.address(at, modifiers.first().and_then(|part| space_named(part)))?;
        self.push(Op::Nop);
        Ok(())
    }
}

/// Takes the hints of a load or a store, at most one of each kind; they change nothing
/// here.
pub(super) fn take_hints(name: &str, m: &mut Modifiers<'_>, semantics: Semantics) {
    let of_caches: &[&str] = match name {
        // Ordered accesses bypass private caches.
        _ if semantics != Semantics::Weak => &[],
        "ld" => &["ca", "cg", "cs", "lu", "cv"],
        "st" => &["wb", "cg", "cs", "wt"],
        _ => &[],
    };
    let of_eviction: &[&str] = match name {
        "ld" | "st" => &[
            "L1::evict_normal",
            "L1::evict_unchanged",
            "L1::evict_first",
            "L1::evict_last",
            "L1::no_allocate",
        ],
        _ => &[],
    };
    let of_size: &[&str] = match name {
        "ld" => &["L2::64B", "L2::128B", "L2::256B"],
        _ => &[],
    };
    for kind in [of_caches, of_eviction, of_size] {
        m.find(|part| kind.contains(&part).then_some(()));
    }
}

/// Whether instructions that are about caches alone have these modifiers.
fn is_about_caches(name: &str, modifiers: &[&str]) -> bool {
    match name {
        "prefetch" => matches!(
            modifiers,
            ["L1" | "L2"]
                | ["global" | "local", "L1" | "L2"]
                | ["global", "L2::evict_last" | "L2::evict_normal"]
        ),
        "prefetchu" => matches!(modifiers, ["L1"]),
        "discard" => matches!(modifiers, ["L2"] | ["global", "L2"]),
        _ => matches!(
            modifiers,
            ["L2::evict_normal"] | ["global", "L2::evict_normal"]
        ),
    }
}
