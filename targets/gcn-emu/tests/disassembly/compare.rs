//! Comparing a listing with the decoder.

use std::collections::BTreeMap;

use gcn_emu::{Arch, DecodeErrorKind, Inst, Target, decode};

use crate::llvm::Line;

/// Counts, and the differences.
#[derive(Default)]
pub(crate) struct Comparison {
    /// Instructions whose text agrees.
    pub(crate) same: usize,
    /// Words that both reject.
    pub(crate) rejected: usize,
    /// Graphics instructions, which the decoder does not support.
    pub(crate) graphics: usize,
    /// Instructions with operands that the architecture lacks but LLVM's disassembler accepts.
    pub(crate) lenient: usize,
    /// Instructions of each name, without the suffix of the encoding.
    pub(crate) names: BTreeMap<String, usize>,
    /// A line for each difference.
    pub(crate) differences: Vec<String>,
}

impl Comparison {
    /// Compares a line; `code` starts at its address.
    pub(crate) fn line(&mut self, target: Target, line: &Line, code: &[u32]) {
        let decoded = decode(target, line.address, code);
        let ours = decoded.as_ref().map(ToString::to_string);
        match (&line.text, &decoded) {
            (Some(text), Ok(inst))
                if ours.as_deref() == Ok(text) && usize::from(inst.words) == line.words.len() =>
            {
                self.same += 1;
                for half in text.split(" :: ") {
                    let name = half.split(' ').next().unwrap_or_default();
                    *self
                        .names
                        .entry(without_suffix(name).to_owned())
                        .or_default() += 1;
                }
            }
            (None, Err(_)) => self.rejected += 1,
            (Some(_), Err(error)) if error.kind == DecodeErrorKind::Graphics => self.graphics += 1,
            (Some(text), Err(error)) if is_lenient(target.arch, error.kind, text) => {
                self.lenient += 1;
            }
            (None, Ok(inst)) if lacks_in_llvm(inst) => self.lenient += 1,
            (Some(text), Ok(inst)) if differs_in_llvm(text, inst, &line.words) => self.lenient += 1,
            (theirs, _) => {
                let ours = decoded.map_or_else(|error| error.to_string(), |inst| inst.to_string());
                let theirs = theirs.as_deref().unwrap_or("invalid");
                let words: Vec<_> = code
                    .iter()
                    .take(3)
                    .map(|word| format!("{word:08x}"))
                    .collect();
                let arch = target.arch;
                self.differences.push(format!(
                    "{arch} {}: LLVM: {theirs} | decoder: {ours}",
                    words.join(" ")
                ));
            }
        }
    }

    /// Fails if anything differs.
    pub(crate) fn check(&self, title: &str) {
        println!(
            "{title}: {} instructions agree ({} names), {} invalid, {} of graphics, \
             {} with operands that only LLVM accepts",
            self.same,
            self.names.len(),
            self.rejected,
            self.graphics,
            self.lenient
        );
        let count = self.differences.len();
        let first: Vec<_> = self
            .differences
            .iter()
            .take(20)
            .map(String::as_str)
            .collect();
        if let Ok(path) = std::env::var("GCN_DIFFERENCES") {
            std::fs::write(path, self.differences.join("\n")).expect("a writable file");
        }
        assert!(
            count == 0,
            "{title}: {count} differences:\n{}",
            first.join("\n")
        );
        assert!(self.same > 0, "{title}: nothing was compared");
    }
}

/// A name without the suffix of the encoding.
fn without_suffix(name: &str) -> &str {
    let suffixes = ["_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"];
    let found = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
    found.unwrap_or(name)
}

/// Whether only LLVM's disassembler accepts an instruction that the decoder rejects.
fn is_lenient(arch: Arch, kind: DecodeErrorKind, text: &str) -> bool {
    // Registers of gfx1250, registers behind the last one, and others that do not exist there.
    const OPERANDS: &[&str] = &[
        "src_",
        "[255:",
        "[254:2",
        "s[96:103]",
        "s[88:103]",
        "exec offset",
        "[254:256",
        "[254:257",
        "[253:256",
        "null",
        "s[100:103]",
    ];
    let has = |part: &&str| text.contains(part);
    let unified = matches!(arch, Arch::Gfx90a | Arch::Gfx942);
    match kind {
        DecodeErrorKind::Operand(_) => {
            // It takes vector registers for masks of lanes.
            let masks = ["_co_ci_", "addc_co", "subb_co", "subbrev_co", "cndmask"];
            // It does not check the alignment of accumulation registers and of typed accesses.
            OPERANDS.iter().any(has)
                || has_register_behind_last(text)
                || (unified && (text.contains("a[") || text.starts_with("tbuffer")))
                || text.starts_with("v_interp")
                || masks.iter().any(has)
                || text.contains("_block")
        }
        DecodeErrorKind::Modifier => match arch {
            // Accumulation registers, which memory instructions do not access there.
            Arch::Gfx906 | Arch::Gfx908 => text.contains(" a"),
            // Selections for sources that do not exist.
            Arch::Gfx1100 => text.contains("16") && ![".l", ".h"].iter().any(has),
            // Modifiers of gfx1250.
            Arch::Gfx1201 => text.contains(" scale_offset") || text.contains(" nv"),
            _ => false,
        },
        // The encoding of gfx10.
        DecodeErrorKind::UnknownOperation => arch == Arch::Gfx1100 && text.starts_with("v_fma_mix"),
        _ => false,
    }
}

/// Whether the last of several registers has a number above 255.
fn has_register_behind_last(text: &str) -> bool {
    let ends = text
        .split(':')
        .skip(1)
        .filter_map(|rest| rest.split_once(']'));
    ends.filter_map(|(end, _)| end.parse().ok())
        .any(|end: u32| end > 255)
}

/// Whether LLVM's disassembler is known to write this instruction differently.
fn differs_in_llvm(text: &str, inst: &Inst, words: &[u32]) -> bool {
    // It takes a small constant of these for the number of an operand.
    let names = ["madak", "madmk", "fmaak", "fmamk"];
    let constant = names.iter().any(|name| text.contains(name));
    // It leaves out the suffix of these comparisons.
    let without_suffix =
        inst.to_string().replacen("_dpp", "", 1) == text && text.starts_with("v_cmp");
    (constant && matches!(words.last(), Some(128..=255)))
        || without_suffix
        || text.starts_with("s_version")
        || text.starts_with("buffer_store_lds")
}

/// Whether only LLVM's disassembler rejects an instruction: it does not know that atomic operations
/// on floats may return to accumulation registers of gfx942.
fn lacks_in_llvm(inst: &Inst) -> bool {
    let names = ["atomic_add_f32 a", "atomic_pk_add_f16 a", "_f64 a"];
    let text = inst.to_string();
    // Nor does it know all modes of addressing of this one.
    if text.starts_with("buffer_store_lds") || text.contains("ttmp[12:14]") {
        return true;
    }
    inst.target.arch == Arch::Gfx942 && names.iter().any(|name| text.contains(name))
}
