//! The C names of shared-abi.

use std::collections::BTreeMap;

use crate::abi::{Abi, Const};

/// Integer types that the documentation names.
const INTS: &[(&str, &str)] = &[
    ("u8", "uint8_t"),
    ("u16", "uint16_t"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("i32", "int32_t"),
];

/// The C names of the crate.
pub(super) struct Names {
    types: BTreeMap<String, String>,
    /// Constants by their own name; `None` if two share it.
    consts: BTreeMap<String, Option<String>>,
}

impl Names {
    pub(super) fn new(abi: &Abi) -> Names {
        let mut consts = BTreeMap::new();
        for constant in &abi.consts {
            consts
                .entry(constant.name.clone())
                .and_modify(|name| *name = None)
                .or_insert_with(|| Some(constant_name(abi, constant)));
        }
        let types = abi.structs.iter().map(|(name, item)| {
            let native = abi.modules[item.module]
                .path
                .last()
                .is_some_and(|m| m == "native");
            // "slot" and "request header" alone could belong to any wire.
            let prefix = if native { "revoff_native_" } else { "revoff_" };
            (name.clone(), format!("{prefix}{}", snake(name)))
        });
        Names {
            types: types.collect(),
            consts,
        }
    }

    /// The C name of a type, by its Rust name.
    pub(super) fn of_type(&self, name: &str) -> Option<&str> {
        self.types.get(name).map(String::as_str)
    }

    /// The C names of all types.
    pub(super) fn types(&self) -> impl Iterator<Item = &str> {
        self.types.values().map(String::as_str)
    }

    /// Documentation for C: no links, and C names in backquotes.
    pub(super) fn docs(&self, docs: &[String]) -> Vec<String> {
        let is_reference =
            |line: &&String| line.trim_start().starts_with('[') && line.contains("]: ");
        let mut lines: Vec<String> = docs
            .iter()
            .filter(|line| !is_reference(line))
            .map(|line| self.translate(&without_links(line)))
            .collect();
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        lines
    }

    fn translate(&self, line: &str) -> String {
        // Odd pieces are between backquotes.
        let pieces = line.split('`').enumerate().map(|(at, piece)| match at % 2 {
            1 => self.word(piece),
            _ => piece.to_owned(),
        });
        pieces.collect::<Vec<_>>().join("`")
    }

    fn word(&self, word: &str) -> String {
        if let Some((_, c)) = INTS.iter().find(|(rust, _)| *rust == word) {
            return (*c).to_owned();
        }
        let word = word.trim_start_matches("crate::");
        let mut backwards = word.rsplit("::");
        let last = backwards.next().unwrap_or(word);
        if let Some(Some(constant)) = self.consts.get(last) {
            return constant.clone();
        }
        if let Some(ty) = self.of_type(last) {
            return ty.to_owned();
        }
        match backwards.next().and_then(|ty| self.of_type(ty)) {
            Some(ty) => format!("{ty}.{last}"),
            None => word.to_owned(),
        }
    }
}

/// `REVOFF_MAP_TO` for `map_kind::MapKind::TO`: our prefix, the module or type, and the name,
/// without repetitions.
pub(super) fn constant_name(abi: &Abi, constant: &Const) -> String {
    let name = &constant.name;
    let module = &abi.modules[constant.module].path;
    if name.starts_with("GOMP_") || name.starts_with("REVOFF_") {
        return name.clone();
    }
    let place = match (&constant.owner, module.last()) {
        (Some(owner), _) => snake(owner).to_uppercase(),
        (None, Some(module)) => module.to_uppercase(),
        (None, None) => return format!("REVOFF_{name}"),
    };
    let place = place.trim_end_matches("_KIND");
    if name.starts_with(&format!("{place}_")) {
        return format!("REVOFF_{name}");
    }
    format!("REVOFF_{place}_{name}")
}

/// `map_entry` for `MapEntry`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// Replaces `[text](target)` and `[text]` by `text` if it is code or the target a path; leaves
/// other brackets.
fn without_links(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let Some((text, tail)) = after.split_once(']') else {
            out.push('[');
            rest = after;
            continue;
        };
        let target = tail.strip_prefix('(').and_then(|tail| tail.split_once(')'));
        rest = match target {
            Some((_, tail)) => {
                out.push_str(text);
                tail
            }
            None if text.starts_with('`') => {
                out.push_str(text);
                tail
            }
            None => {
                out.push('[');
                after
            }
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_text() {
        let plain = without_links("a [`B`](crate::B)s, [`C`], [d](e::f) and `g[i]`");
        assert_eq!(plain, "a `B`s, `C`, d and `g[i]`");
    }

    #[test]
    fn names_do_not_say_things_twice() {
        let text = "pub struct MapKind(u16); impl MapKind { pub const TO: MapKind = MapKind(1); }\n\
            pub const IMPLICIT_BITS: u8 = 1; pub const MAP_SIZE: u8 = 1; pub const GOMP_X: u8 = 1;";
        let module = vec!["map_kind".to_owned()];
        let abi = Abi::new(crate::source::parse_str("a.rs", module, text).expect("parses"));
        let names: Vec<String> = abi.consts.iter().map(|c| constant_name(&abi, c)).collect();
        let expected = [
            "REVOFF_MAP_TO",
            "REVOFF_MAP_IMPLICIT_BITS",
            "REVOFF_MAP_SIZE",
            "GOMP_X",
        ];
        assert_eq!(names, expected);
        let docs = Names::new(&abi).docs(&["A [`MapKind`] of [`TO`](MapKind::TO).".to_owned()]);
        assert_eq!(docs, ["A `revoff_map_kind` of `REVOFF_MAP_TO`."]);
    }
}
