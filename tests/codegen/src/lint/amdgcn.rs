//! Instructions allowed in code for AMD.
//!
//! Words of mapped memory are accessed by the compiler's own atomics, at system scope. At that scope
//! LLVM uses compare-and-swap to change bits of memory, since PCIe has no operation for it. Claims in
//! device memory set and clear bits at agent scope.

use targets::arch::Arch;

use crate::listing::Instruction;

/// The reason why `instruction` is forbidden, if it is.
pub(super) fn wrong(arch: &Arch, instruction: &Instruction) -> Option<&'static str> {
    let op = instruction.op.as_str();
    let is_on_lds = op.starts_with("ds_") && !op.starts_with("ds_read") && {
        // All other operations on block-shared memory that return a value or combine.
        [
            "_rtn", "ds_add", "ds_sub", "ds_inc", "ds_dec", "ds_min", "ds_max", "ds_and", "ds_or",
        ]
        .iter()
        .any(|part| op.contains(part))
    };
    if !op.contains("_atomic") && !is_on_lds {
        return None;
    }
    // From gfx11 on operations have their type in their name. The first panic is claimed in a
    // variable of the image, whose address the compiler knows to be global.
    let known = ["cmpswap", "cmpswap_b32", "add", "add_u32"]
        .iter()
        .any(|operation| op == format!("flat_atomic_{operation}"))
        || ["cmpswap", "cmpswap_b32"]
            .iter()
            .any(|operation| op == format!("global_atomic_{operation}"));
    let is_claim = ["or", "and", "or_b32", "and_b32"]
        .iter()
        .any(|operation| op == format!("global_atomic_{operation}"));
    if is_claim {
        return None;
    }
    if !known {
        return Some("a read-modify-write that is not device-rt's");
    }
    // Other processors always act on the memory itself, or on the shared cache.
    let scope = match arch.name {
        "gfx942" => "sc1",
        name if name.starts_with("gfx12") => "scope:SCOPE_SYS",
        _ => return None,
    };
    let mut words = instruction.operands.split_whitespace();
    (!words.any(|word| word == scope)).then_some("a read-modify-write below system scope")
}

#[cfg(test)]
mod tests {
    use crate::lint::lint;
    use crate::listing::functions;
    use targets::arch::{Target, find};

    /// Findings in a function with this instruction.
    #[track_caller]
    fn findings(arch: &str, instruction: &str) -> Vec<String> {
        let isa = format!("\t.type\tf,@function\nf:\n\t{instruction}\n\t.size\tf, 4\n");
        let found = lint(find(arch).expect(arch), &functions(Target::Amdgcn, &isa));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn device_rts_own_pass() {
        for (arch, instruction) in [
            (
                "gfx90a",
                "flat_atomic_cmpswap v3, v[0:1], v[4:5] offset:128 glc",
            ),
            ("gfx942", "flat_atomic_add v0, v[0:1], v2 sc0 sc1"),
            ("gfx1100", "flat_atomic_cmpswap_b32 v3, v[0:1], v[4:5] glc"),
            (
                "gfx1201",
                "flat_atomic_add_u32 v3, v[0:1], v4 th:TH_ATOMIC_RETURN scope:SCOPE_SYS",
            ),
            ("gfx90a", "global_atomic_cmpswap v2, v4, v[2:3], s[8:9] glc"),
            ("gfx90a", "flat_atomic_add v[0:1], v2"),
            ("gfx90a", "global_atomic_or v0, v[0:1], v2, off glc"),
            ("gfx942", "global_atomic_and v[0:1], v2, off"),
            (
                "gfx1201",
                "global_atomic_or_b32 v0, v[0:1], v2, off scope:SCOPE_DEV",
            ),
            ("gfx90a", "flat_store_dword v[0:1], v2"),
            ("gfx90a", "ds_read_b32 v0, v1"),
        ] {
            assert_eq!(findings(arch, instruction), [""; 0], "{arch} {instruction}");
        }
    }

    #[test]
    fn each_of_these_is_found() {
        for (arch, planted) in [
            ("gfx90a", "global_atomic_add v0, v[0:1], v2, off glc"),
            ("gfx90a", "flat_atomic_or v0, v[0:1], v2 glc"),
            ("gfx90a", "flat_atomic_add_x2 v[0:1], v[0:1], v[2:3] glc"),
            ("gfx942", "flat_atomic_add v0, v[0:1], v2 sc0"),
            (
                "gfx1201",
                "flat_atomic_add_u32 v3, v[0:1], v4 th:TH_ATOMIC_RETURN scope:SCOPE_DEV",
            ),
            ("gfx1030", "buffer_atomic_add v0, v1, s[0:3], 0 offen glc"),
            ("gfx90a", "ds_add_u32 v0, v1"),
            ("gfx90a", "ds_cmpst_rtn_b32 v0, v1, v2, v3"),
        ] {
            let found = findings(arch, planted);
            let [only] = &found[..] else {
                panic!("{arch} {planted}: {found:?}");
            };
            assert!(
                only.starts_with(&format!("f, line 3: `{planted}`: ")),
                "{only}"
            );
        }
    }
}
