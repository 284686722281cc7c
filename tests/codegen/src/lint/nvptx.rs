//! Instructions allowed in PTX.

use targets::arch::Arch;

use crate::listing::Instruction;

/// Every read-modify-write of device-rt, from `sm_70` on, on `sm_60`, and before.
const ATOMS: [[&str; 3]; 3] = [
    [
        "atom.acquire.gpu.global.or.b32",
        "atom.release.gpu.global.and.b32",
        "atom.relaxed.gpu.global.add.u32",
    ],
    [
        "atom.gpu.global.or.b32",
        "atom.gpu.global.and.b32",
        "atom.gpu.global.add.u32",
    ],
    [
        "atom.global.or.b32",
        "atom.global.and.b32",
        "atom.global.add.u32",
    ],
];

/// Every ordered access from `sm_70` on.
const ORDERED: [&str; 16] = [
    "ld.relaxed.sys.global.u8",
    "ld.relaxed.sys.global.u32",
    "ld.relaxed.sys.global.u64",
    "ld.relaxed.sys.global.v2.u64",
    "ld.acquire.sys.global.u32",
    "ld.acquire.sys.global.u64",
    "st.relaxed.sys.global.u8",
    "st.relaxed.sys.global.u32",
    "st.relaxed.sys.global.u64",
    "st.relaxed.sys.global.v2.u64",
    "st.release.sys.global.u32",
    "st.release.sys.global.u64",
    "ld.relaxed.gpu.global.u32",
    "ld.acquire.gpu.global.u32",
    "st.relaxed.gpu.global.u32",
    "st.release.gpu.global.u32",
];

/// Every shared access before `sm_70`.
const VOLATILE: [&str; 8] = [
    "ld.volatile.global.u8",
    "ld.volatile.global.u32",
    "ld.volatile.global.u64",
    "ld.volatile.global.v2.u64",
    "st.volatile.global.u8",
    "st.volatile.global.u32",
    "st.volatile.global.u64",
    "st.volatile.global.v2.u64",
];

/// The reason why `instruction` in the function `name` is forbidden, if it is.
pub(super) fn wrong(arch: &Arch, name: &str, instruction: &Instruction) -> Option<&'static str> {
    let number: u32 = arch.name.strip_prefix("sm_")?.parse().ok()?;
    let has_order = number >= 70;
    let op = instruction.op.as_str();
    let parts: Vec<&str> = op.split('.').collect();
    let has = |what: &[&str]| parts.iter().any(|part| what.contains(part));
    match parts[0] {
        "atom" | "red" => {
            let [ordered, scoped, bare] = &ATOMS;
            let known = match number {
                70.. => ordered,
                60.. => scoped,
                _ => bare,
            };
            if !known.contains(&op) {
                return Some("a read-modify-write that is not device-rt's");
            }
            // Its words are in mapped memory, where PCIe has no such operation.
            (has(&["add"]) && name.contains("6native6Native"))
                .then_some("the native wire adds to a word of the host's")
        }
        "ld" | "st" if has(&["volatile", "mmio"]) => {
            if has_order {
                Some("a volatile access, which has an order and a scope from sm_70 on")
            } else {
                (!VOLATILE.contains(&op)).then_some("a volatile access that is not device-rt's")
            }
        }
        "ld" | "st" if has(&["relaxed", "acquire", "release", "sys", "gpu", "cta"]) => {
            if has_order {
                (!ORDERED.contains(&op)).then_some("an atomic access that is not device-rt's")
            } else {
                Some("an order or a scope, which there is none of below sm_70")
            }
        }
        "fence" => {
            let known = ["fence.sc.sys", "fence.acq_rel.sys"];
            (!(has_order && known.contains(&op))).then_some("a fence that is not device-rt's")
        }
        "membar" => (has_order || !["membar.sys", "membar.gl"].contains(&op))
            .then_some("a fence that is not device-rt's"),
        // Lanes in lock-step that may end the launch converge only after it: too late to vote.
        "trap" => name
            .contains("wire7call_on")
            .then_some("a panic on the way of a call"),
        "nanosleep" => (!has_order).then_some("there is no nanosleep below sm_70"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::lint;
    use crate::listing::functions;
    use targets::arch::{Target, find};

    /// The findings in a function with these instructions.
    #[track_caller]
    fn findings(arch: &str, name: &str, instructions: &[&str]) -> Vec<String> {
        let lines: String = instructions
            .iter()
            .map(|line| format!("\t{line};\n"))
            .collect();
        let ptx = format!(".func {name}()\n{{\n{lines}}}\n");
        let found = lint(find(arch).expect(arch), &functions(Target::Nvptx, &ptx));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn device_rts_own_pass() {
        assert_eq!(
            findings(
                "sm_70",
                "f",
                &[
                    "atom.acquire.gpu.global.or.b32 %r1, [%rd1], %r2",
                    "atom.relaxed.gpu.global.add.u32 %r1, [%rd1], %r2",
                    "ld.acquire.sys.global.u64 %rd1, [%rd2]",
                    "ld.global.b64 %rd1, [%rd2]",
                    "ld.param.b64 %rd1, [f_param_0]",
                    "st.b32 [%rd1], 1",
                    "ld.relaxed.sys.global.v2.u64 {%rd1, %rd2}, [%rd3]",
                    "st.relaxed.sys.global.v2.u64 [%rd1], {%rd2, %rd3}",
                    "fence.acq_rel.sys",
                    "fence.sc.sys",
                    "nanosleep.u32 %r1",
                ],
            ),
            [""; 0]
        );
        for (arch, or) in [
            ("sm_60", "atom.gpu.global.or.b32"),
            ("sm_50", "atom.global.or.b32"),
        ] {
            let or = format!("{or} %r1, [%rd1], %r2");
            let rest = [
                "ld.volatile.global.u32 %r1, [%rd1]",
                "membar.gl",
                "membar.sys",
            ];
            assert_eq!(findings(arch, "f", &[&[&*or], &rest[..]].concat()), [""; 0]);
        }
    }

    #[test]
    fn each_of_these_is_found() {
        for (arch, planted) in [
            ("sm_70", "atom.global.add.u32 %r1, [%rd1], 1"),
            ("sm_70", "atom.add.u32 %r1, [%rd1], 1"),
            ("sm_70", "atom.acq_rel.sys.cas.b32 %r1, [%rd1], %r2, %r3"),
            ("sm_70", "atom.acquire.sys.global.or.b32 %r1, [%rd1], %r2"),
            ("sm_70", "@%p1 red.global.add.u32 [%rd1], 1"),
            ("sm_70", "ld.volatile.global.u32 %r1, [%rd1]"),
            ("sm_90", "st.volatile.u64 [%rd1], %rd2"),
            ("sm_70", "ld.acquire.gpu.global.u64 %rd1, [%rd2]"),
            ("sm_70", "ld.acquire.sys.b32 %r1, [%rd2]"),
            ("sm_70", "st.release.cta.global.u32 [%rd1], %r1"),
            ("sm_70", "fence.acq_rel.gpu"),
            ("sm_70", "fence.sc.gpu"),
            ("sm_70", "membar.sys"),
            ("sm_60", "atom.global.or.b32 %r1, [%rd1], %r2"),
            ("sm_60", "atom.acquire.gpu.global.or.b32 %r1, [%rd1], %r2"),
            ("sm_50", "atom.gpu.global.or.b32 %r1, [%rd1], %r2"),
            ("sm_50", "ld.relaxed.sys.global.u32 %r1, [%rd1]"),
            ("sm_50", "ld.volatile.b32 %r1, [%rd1]"),
            ("sm_60", "membar.cta"),
            ("sm_60", "fence.sc.sys"),
            ("sm_60", "nanosleep.u32 32"),
        ] {
            let found = findings(arch, "planted", &["ret", planted]);
            let [only] = &found[..] else {
                panic!("{arch} {planted}: {found:?}");
            };
            let start = format!("planted, line 4: `{planted}`: ");
            assert!(only.starts_with(&start), "{only}");
            assert!(only.contains("use revoff_device::arch's words"), "{only}");
        }
    }

    #[test]
    fn a_call_does_not_panic() {
        let name = "_RINvNtC13revoff_device4wire7call_onNtNtB2_6native6NativeEC1x";
        assert_eq!(findings("sm_60", name, &["trap"]).len(), 1);
        assert_eq!(findings("sm_60", "kernel", &["trap"]).len(), 0);
    }

    #[test]
    fn the_native_wire_adds_to_nothing() {
        let add = "atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1";
        let native = "_RINvNtC13revoff_device4wire7call_onNtNtB2_6native6NativeEC1x";
        let ring = "_RINvNtC13revoff_device4wire7call_onNtNtB2_8gcc_ring4RingEC1x";
        assert_eq!(findings("sm_70", native, &[add]).len(), 1);
        assert_eq!(findings("sm_70", ring, &[add]).len(), 0);
    }
}
