//! The wire of a GCC image, which is that of the `GOMP_target_ext` it was linked with, and not
//! recorded in the image.

use std::collections::{HashMap, HashSet};

use shared_abi::gomp::REV_OFFLOAD_VAR;
use shared_abi::wire::WireKind;

use super::TARGET_EXT;
use crate::ptx::{Item, Tokens, items};

/// Offsets of the words after the first in mainline's only slot.
const SLOT_WORDS: [u64; 5] = [8, 16, 24, 32, 40];

/// Offsets of the words of the ring's first slot, from the start of the ring.
const RING_WORDS: [u64; 7] = [16, 24, 32, 40, 48, 56, 64];

/// The wire of GCC's `GOMP_target_ext`, recognised by its instructions; `texts` are all parts of an
/// image.
///
/// Mainline's function writes the slot's five other words through a plugin's pointer, and then the
/// first. The parallel patch's function takes a ticket by adding 1 to the first word, and finds a
/// slot by the ticket's last ten bits. Neither does to the first word what the other does, so both
/// the use of the first word and the layout after it are checked.
///
/// `None` if the wire is unknown: no such function or several, one that was compiled without
/// optimisation, a ring of another layout.
pub fn wire<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Option<WireKind> {
    let mut found = None;
    for text in texts {
        // A malformed text does not matter, unless it is the only one with the function.
        let Ok(items) = items(text) else { continue };
        let is_it = |item: &&Item<'_>| item.name() == Some(TARGET_EXT) && item.is_definition();
        for item in items.iter().filter(is_it) {
            let body = &text[item.body.clone()?];
            if found.replace(of_body(body)).is_some() {
                return None;
            }
        }
    }
    found?
}

fn of_body(body: &[u8]) -> Option<WireKind> {
    let lines = body.split(|&byte| byte == b'\n');
    // Lines of debugging information end without a semicolon.
    let lines = lines.filter(|line| !line.trim_ascii_start().starts_with(b".loc"));
    let text = lines.collect::<Vec<_>>().join(&b'\n');
    let tokens: Vec<_> = Tokens::of(&text).collect();
    let statements: Vec<_> = tokens
        .split(|token| matches!(*token, b";" | b"{" | b"}"))
        .map(instruction)
        .filter(|statement| !statement.is_empty())
        .collect();
    let pointers = Pointers::of(&statements);
    let accesses = || statements.iter().filter_map(|s| Access::of(s));
    let first = |access: &Access<'_>| pointers.are_wire(access.base) && access.offset == 0;

    let draws_ticket = |access: Access<'_>| {
        let is_add = access.is("atom", &[b"add"]) && (access.has(b"u32") || access.has(b"s32"));
        first(&access) && is_add && access.value == Some(1)
    };
    if accesses().any(draws_ticket) {
        let literals: HashSet<_> = statements.iter().flat_map(|s| literals(s)).collect();
        let is_slot = statements.iter().any(|statement| {
            let masks = statement[0].starts_with(b"and.") && literals_of(statement, 1023);
            masks || statement[0].starts_with(b"rem.u") && literals_of(statement, 1024)
        });
        let is_ring = is_slot && RING_WORDS.iter().all(|word| literals.contains(word));
        return is_ring.then_some(WireKind::GCC_RING);
    }
    // Other functions that change the first word in one step are neither.
    if accesses().any(|access| first(&access) && !access.is("st", &[]) && !access.is("ld", &[])) {
        return None;
    }
    let stores = |offset, bits: &[u8]| {
        accesses().any(|access| {
            pointers.are_wire(access.base)
                && access.offset == offset
                && access.is("st", &[])
                && access.opcode.ends_with(bits)
        })
    };
    let is_slot = stores(0, b"64")
        && SLOT_WORDS
            .iter()
            .all(|&word| stores(word, if word == 40 { b"32" } else { b"64" }));
    is_slot.then_some(WireKind::GCC_SLOT)
}

/// A statement without its label and its condition.
fn instruction<'t, 'a>(mut tokens: &'t [&'a [u8]]) -> &'t [&'a [u8]] {
    while let [_label, b":", rest @ ..] = tokens {
        tokens = rest;
    }
    match tokens {
        [b"@", b"!", _register, rest @ ..] | [b"@", _register, rest @ ..] => rest,
        _ => tokens,
    }
}

fn number(token: &[u8]) -> Option<u64> {
    str::from_utf8(token).ok()?.parse().ok()
}

fn literals<'t>(statement: &'t [&[u8]]) -> impl Iterator<Item = u64> + 't {
    statement.iter().filter_map(|token| number(token))
}

fn literals_of(statement: &[&[u8]], wanted: u64) -> bool {
    literals(statement).any(|literal| literal == wanted)
}

fn is_register(token: &[u8]) -> bool {
    token.starts_with(b"%")
}

/// An access to memory.
struct Access<'a> {
    opcode: &'a [u8],
    /// The base of its address: a register or a variable.
    base: &'a [u8],
    offset: u64,
    /// The operand after the address, if it is a number and the last.
    value: Option<u64>,
}

impl<'a> Access<'a> {
    fn of(statement: &[&'a [u8]]) -> Option<Self> {
        let start = statement.iter().position(|token| *token == b"[")?;
        let (base, offset, after) = match &statement[start + 1..] {
            [base, b"]", after @ ..] => (*base, 0, after),
            [base, b"+", offset, b"]", after @ ..] => (*base, number(offset)?, after),
            _ => return None,
        };
        let value = match after {
            [b",", value] => number(value),
            _ => None,
        };
        let opcode = *statement.first()?;
        Some(Self {
            opcode,
            base,
            offset,
            value,
        })
    }

    fn has(&self, part: &[u8]) -> bool {
        self.opcode.split(|&byte| byte == b'.').any(|p| p == part)
    }

    /// Whether the instruction is `name`, with all of `parts`.
    fn is(&self, name: &str, parts: &[&[u8]]) -> bool {
        let first = self.opcode.split(|&byte| byte == b'.').next();
        first == Some(name.as_bytes()) && parts.iter().all(|part| self.has(part))
    }
}

/// The registers that only ever hold the address of the variable, or the pointer in it, on all
/// paths.
struct Pointers<'a> {
    address: HashSet<&'a [u8]>,
    wire: HashSet<&'a [u8]>,
}

impl<'a> Pointers<'a> {
    fn of(statements: &[&[&'a [u8]]]) -> Self {
        let mut definitions: HashMap<&'a [u8], Vec<&[&'a [u8]]>> = HashMap::new();
        for &statement in statements {
            for register in defines(statement) {
                definitions.entry(register).or_default().push(statement);
            }
        }
        let mut found = Self {
            address: HashSet::new(),
            wire: HashSet::new(),
        };
        // Each round finds copies of the last round's registers.
        loop {
            let before = found.address.len() + found.wire.len();
            for (&register, by) in &definitions {
                if by.iter().all(|statement| found.gives_address(statement)) {
                    found.address.insert(register);
                } else if by.iter().all(|statement| found.gives_wire(statement)) {
                    found.wire.insert(register);
                }
            }
            if found.address.len() + found.wire.len() == before {
                return found;
            }
        }
    }

    fn are_wire(&self, base: &[u8]) -> bool {
        self.wire.contains(base)
    }

    fn is_variable(&self, base: &[u8]) -> bool {
        base == REV_OFFLOAD_VAR.as_bytes() || self.address.contains(base)
    }

    fn gives_address(&self, statement: &[&[u8]]) -> bool {
        match statement {
            [b"mov.u64" | b"mov.b64" | b"cvta.global.u64", _, b",", from] => self.is_variable(from),
            _ => false,
        }
    }

    fn gives_wire(&self, statement: &[&[u8]]) -> bool {
        if let [b"mov.u64" | b"mov.b64", _, b",", from] = statement {
            return self.wire.contains(from);
        }
        Access::of(statement).is_some_and(|access| {
            access.is("ld", &[])
                && access.opcode.ends_with(b"64")
                && access.offset == 0
                && self.is_variable(access.base)
        })
    }
}

/// The registers that a statement may change: those before the first comma that are not in an
/// address. All registers of a statement that braces have cut in two.
fn defines<'t, 'a>(statement: &'t [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> + 't {
    let is_part = is_register(statement[0]);
    let is_directive = statement[0].starts_with(b".");
    let first = statement
        .iter()
        .take_while(move |token| is_part || !matches!(**token, b"," | b"["));
    first
        .copied()
        .filter(move |token| !is_directive && is_register(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(body: &str) -> String {
        format!(
            ".version 6.0\n.visible .global .align 8 .u64 __gomp_rev_offload_var[1];\n\
             .func other {{ ret; }}\n\
             .visible .func GOMP_target_ext (.param .u32 a, .param .u64 b)\n{{\n{body}\nret;\n}}\n"
        )
    }

    fn detected(texts: &[&str]) -> Option<WireKind> {
        wire(texts.iter().map(|text| text.as_bytes()))
    }

    /// One slot under a lock.
    const SLOT: &str = "\
.reg .u64 %p;
.loc 1 2 3
ld.global.u64 %p,[__gomp_rev_offload_var];
$L1:
@%q atom.global.exch.b32 %r,[lock],1;
@%r bra $L1;
.loc 2 3 4
ld.global.u64 %p,[__gomp_rev_offload_var];
st.u64 [%p+8],%a;
st.u64 [%p+16],%a;
st.u64 [%p+24],%a;
st.u64 [%p+32],%a;
st.u32 [%p+40],%n;
membar.sys;
st.volatile.global.u64 [%p],%f;
$L2: ld.u64 %w,[%p];
setp.ne.u64 %q,%w,0;
@%q bra $L2;";

    /// A ring with tickets.
    const RING: &str = "\
.reg .u64 %p;
ld.global.u64 %p,[__gomp_rev_offload_var];
@%q atom.add.u32 %t,[%p],1;
@%s shfl.sync.idx.b32 %t,%t,%u,31,0xffffffff;
ld.u32 %c,[%p+4];
and.b32 %t,%t,1023;
mul.wide.u32 %o,%t,56;
add.u64 %o,%p,%o;
st.u64 [%o+24],%a;
st.u64 [%o+32],%a;
st.u64 [%o+40],%a;
st.u64 [%o+48],%a;
st.u64 [%o+56],%a;
st.u32 [%o+64],%a;
membar.sys;
st.volatile.global.u64 [%o+16],%f;";

    #[test]
    fn both_are_known() {
        let other = ".version 6.0\n.visible .func f { call GOMP_target_ext,(a,b); }";
        assert_eq!(
            detected(&[other, &function(SLOT)]),
            Some(WireKind::GCC_SLOT)
        );
        assert_eq!(
            detected(&[&function(RING), other]),
            Some(WireKind::GCC_RING)
        );
        let end = format!("{}\0", function(RING));
        assert_eq!(detected(&[&end]), Some(WireKind::GCC_RING));
    }

    #[test]
    fn other_ways_to_write_them() {
        for (from, to) in [
            (".volatile.global.u64 [%p]", ".global.release.sys.u64 [%p]"),
            ("\nld.global", "\nld.relaxed.sys.global"),
            ("[__gomp_rev_offload_var]", "[__gomp_rev_offload_var+0]"),
            (
                "ld.global.u64 %p,[__gomp_rev_offload_var]",
                "cvta.global.u64 %v, __gomp_rev_offload_var; ld.b64 %z,[%v]; mov.u64 %p,%z",
            ),
        ] {
            let text = SLOT.replace(from, to);
            assert_ne!(text, SLOT, "{from}");
            let known = detected(&[&function(&text)]);
            assert_eq!(known, Some(WireKind::GCC_SLOT), "{to}");
        }
        for (from, to) in [
            ("atom.add.u32", "atom.global.acquire.gpu.add.u32"),
            ("[%p],1", "[%p+0],1"),
            ("and.b32 %t,%t,1023", "rem.u32 %t,%t,1024"),
            ("st.u64 [%o+40]", "add.u64 %x,%o,40; st.u64 [%x]"),
            (
                "mul.wide.u32 %o,%t,56",
                "shl.b64 %a,%t,3; sub.u64 %b,%a,%t; shl.b64 %o,%b,3",
            ),
        ] {
            let text = RING.replace(from, to);
            assert_ne!(text, RING, "{from}");
            let known = detected(&[&function(&text)]);
            assert_eq!(known, Some(WireKind::GCC_RING), "{to}");
        }
    }

    #[test]
    fn what_is_not_sure_is_not_told() {
        let both = [function(SLOT), function(RING)];
        let texts: [&[&str]; 5] = [
            &[],
            &[".version 6.0\n.func f { ret; }"],
            &[&both[0], &both[1]],
            &[&both[0], &both[0]],
            &[&function("")],
        ];
        for texts in texts {
            assert_eq!(detected(texts), None, "{texts:?}");
        }
        let unknown = [
            // With another layout, or another type.
            (SLOT, "st.u64 [%p+24],%a;", ""),
            (SLOT, "st.u32 [%p+40]", "st.u64 [%p+40]"),
            (SLOT, "st.volatile.global.u64 [%p]", "st.u32 [%p]"),
            (RING, "1023", "511"),
            (RING, "[%o+64]", "[%o+72]"),
            (RING, "add.u32", "add.u64"),
            (RING, "[%p],1", "[%p],2"),
            (RING, "[%p],1", "[%p+8],1"),
            // At an address other than the pointer's, or possibly.
            (RING, "ld.global.u64 %p,", "ld.global.u64 %y,"),
            (
                RING,
                "ld.global.u64 %p,[__gomp_rev_offload_var]",
                "mov.u64 %p,__gomp_rev_offload_var",
            ),
            (RING, "and.b32", "mov.u64 %p,%y; and.b32"),
            (SLOT, "membar.sys;", "@%k add.u64 %p,%p,48;"),
            (SLOT, "membar.sys;", "ld.v2.u64 {%k,%p},[%y];"),
            (SLOT, "membar.sys;", "call (%p),f,(%k);"),
            (SLOT, "membar.sys;", "shfl.sync.idx.b32 %k|%p,%y,0,31,1;"),
            // One that locks the slot by its first word.
            (SLOT, "[lock],1", "[%p],1"),
        ];
        for (text, from, to) in unknown {
            let other = text.replace(from, to);
            assert_ne!(other, text, "{from}");
            assert_eq!(detected(&[&function(&other)]), None, "{to}");
        }
    }
}
