//! Each rule is broken once, to prove that its check can fail.

use super::*;
use crate::abi::NO_BOUNDARY;

/// A type that breaks no rule.
const GOOD: &str = "
/// A.
#[repr(C)]
pub struct A {
    /// B.
    pub b: u64,
    /// C.
    pub c: [u32; N as usize / 2],
}
/// N.
pub const N: u32 = 4;
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<A>() == 16 && align_of::<A>() == 8);
    assert!(offset_of!(A, b) == 0);
    assert!(offset_of!(A, c) == 8);
};
";

fn findings(module: &str, text: &str) -> Vec<String> {
    let modules = source::parse_str("a.rs", vec![module.to_owned()], text).expect("parses");
    let mut found = check(&Abi::new(modules));
    found.sort();
    found.iter().map(Finding::to_string).collect()
}

/// Expects exactly one finding when `old` is replaced in the good text.
#[track_caller]
fn planted(old: &str, new: &str, line: usize, message: &str) {
    assert!(GOOD.contains(old), "{old:?} is not in the good text");
    let found = findings("m", &GOOD.replacen(old, new, 1));
    assert_eq!(found.len(), 1, "{found:#?}");
    let start = format!("a.rs:{line}: error: ");
    assert!(
        found[0].starts_with(&start),
        "{} is not at {start}",
        found[0]
    );
    assert!(found[0].contains(message), "{} lacks {message:?}", found[0]);
}

#[test]
fn the_real_crate_passes() {
    let said = run(&crate::workspace_root()).expect("shared-abi keeps to its rules");
    assert!(said.starts_with("check-abi: "), "{said}");
}

#[test]
fn good_has_no_findings() {
    assert_eq!(findings("m", GOOD), Vec::<String>::new());
}

#[test]
fn rule_1_shape() {
    planted("#[repr(C)]\n", "\n", 4, "is neither repr(C)");
    planted("#[repr(C)]", "#[repr(C, packed)]", 4, "is neither repr(C)");
    planted("#[repr(C)]", "#[repr(Rust)]", 4, "is neither repr(C)");
    planted("struct A", "struct A<const M: usize>", 4, "is generic");
    planted(
        "#[repr(C)]",
        "#[cfg(unix)] #[repr(C)]",
        4,
        "in some builds only",
    );
    planted(
        "    pub b",
        "    #[cfg(unix)] pub b",
        6,
        "in some builds only",
    );
    planted(
        "/// N.",
        "/// E.\n#[repr(C)] pub struct E {}\nconst _: () = assert!(size_of::<E>() == 0 && align_of::<E>() == 1);\n/// N.",
        11,
        "has no fields",
    );
}

#[test]
fn rule_1_names_are_unique() {
    let mut modules = source::parse_str("a.rs", vec!["a".to_owned()], GOOD).expect("parses");
    modules.extend(source::parse_str("b.rs", vec!["b".to_owned()], GOOD).expect("parses"));
    let found = check(&Abi::new(modules));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0]
            .to_string()
            .starts_with("b.rs:4: error: there is another `A`")
    );
}

#[test]
fn rule_2_no_enum_no_union() {
    planted(
        "/// N.",
        "/// E.\npub enum E { One }\n/// N.",
        11,
        "is an enum",
    );
    planted(
        "/// N.",
        "/// E.\npub union E { a: u32 }\n/// N.",
        11,
        "is a union",
    );
}

#[test]
fn rule_3_types() {
    for (ty, message) in [
        ("usize", "width of its own"),
        ("isize", "width of its own"),
        ("[usize; 1]", "width of its own"),
    ] {
        planted("b: u64", &format!("b: {ty}"), 6, message);
    }
    // A type without a layout breaks rule 5 as well.
    for (ty, message) in [
        ("bool", "values that the other side must not send"),
        ("char", "values that the other side must not send"),
        ("f64", "neither a fixed-width integer nor a boundary type"),
        ("u128", "neither a fixed-width integer nor a boundary type"),
        (
            "(u32, u32)",
            "neither a fixed-width integer nor a boundary type",
        ),
        (
            "Option<Missing>",
            "neither a fixed-width integer nor a boundary type",
        ),
        (
            "AtomicU64",
            "neither a fixed-width integer nor a boundary type",
        ),
    ] {
        let found = findings("m", &GOOD.replacen("b: u64", &format!("b: {ty}"), 1));
        assert!(
            found.iter().any(|f| f.contains(message)),
            "{ty}: {found:#?}"
        );
    }
}

#[test]
fn rule_4_no_pointers() {
    planted("b: u64", "b: *const u64", 6, "is a pointer");
    planted(
        "b: u64",
        "b: unsafe extern \"C\" fn()",
        6,
        "a function pointer outside",
    );
    let reference = findings("m", &GOOD.replacen("b: u64", "b: &'static u64", 1));
    assert!(
        reference.iter().any(|f| f.contains("is a reference")),
        "{reference:#?}"
    );
}

#[test]
fn rule_4_exception_is_for_c_functions() {
    let with = |ty: &str| findings(POINTERS, &GOOD.replacen("b: u64", &format!("b: {ty}"), 1));
    assert_eq!(with("unsafe extern \"C\" fn()"), Vec::<String>::new());
    for ty in [
        "fn()",
        "extern \"C\" fn()",
        "unsafe fn()",
        "unsafe extern \"system\" fn()",
    ] {
        let found = with(ty);
        assert_eq!(found.len(), 1, "{ty}: {found:#?}");
        assert!(
            found[0].contains("is `unsafe extern \"C\" fn`"),
            "{found:#?}"
        );
    }
}

#[test]
fn rule_5_no_padding() {
    planted(
        "b: u64,
    /// C.
    pub c: [u32; N as usize / 2]",
        "b: u32,
    /// C.
    pub c: [u64; N as usize / 4]",
        8,
        "4 bytes of padding before field `c`",
    );
    planted(
        "#[repr(C)]",
        "#[repr(C, align(64))]",
        4,
        "ends in 48 bytes of padding",
    );
    planted("N as usize / 2", "3", 4, "ends in 4 bytes of padding");
    planted(
        "N as usize / 2",
        "f()",
        4,
        "has no known layout: cannot evaluate `f ()`",
    );
}

#[test]
fn rule_6_public_and_documented() {
    planted("pub b", "b", 6, "is not pub");
    planted("    /// B.\n", "    \n", 6, "is not documented");
    planted("/// A.\n", "\n", 4, "is not documented");
    planted("pub struct", "struct", 4, "is not pub");
}

#[test]
fn rule_7_assertions() {
    planted(
        "size_of::<A>() == 16 && ",
        "",
        4,
        "no `assert!(size_of::<A>() == N)`",
    );
    planted(
        " && align_of::<A>() == 8",
        "",
        4,
        "no `assert!(align_of::<A>() == N)`",
    );
    planted(
        "assert!(offset_of!(A, b) == 0)",
        "",
        6,
        "no `assert!(offset_of!(A, b) == N)`",
    );
    // A number computed from the type asserts nothing.
    planted(
        "size_of::<A>() == 16",
        "size_of::<A>() == X",
        4,
        "size_of::<A>() == N",
    );
    planted(
        "offset_of!(A, c) == 8",
        "offset_of!(A, c) > 0",
        8,
        "offset_of!(A, c) == N",
    );
}

#[test]
fn rule_7_assertions_for_some_builds_do_not_count() {
    let text = GOOD.replacen("const _", "#[cfg(unix)] const _", 1);
    assert_eq!(findings("m", &text).len(), 4);
    assert_eq!(findings(POINTERS, &text).len(), 0);
}

#[test]
fn rule_8_a_version_has_a_frozen_test() {
    let root = crate::workspace_root();
    let version = |n: &str| {
        let text = format!("/// V.\npub const ABI_VERSION: u32 = {n};");
        let modules = source::parse_str("a.rs", Vec::new(), &text).expect("parses");
        check_frozen(&Abi::new(modules), &root)
    };
    assert_eq!(version("2"), None);
    let found = version("99").expect("a finding").to_string();
    assert!(
        found.starts_with("a.rs:2: error: ABI_VERSION is 99"),
        "{found}"
    );
}

#[test]
fn rule_9_nothing_hides() {
    planted("/// N.", "make!();\n/// N.", 10, "`make!` makes items");
    planted(
        "/// N.",
        "macro_rules! m { () => { pub struct S { a: u8 } } }\n/// N.",
        10,
        "a macro makes a type",
    );
    planted(
        "/// N.",
        "#[cfg(unix)] mod inner { }\n/// N.",
        10,
        "in some builds only",
    );
    let inner = "mod inner { #[repr(C)] pub struct S { a: u8 } }";
    assert!(!findings("m", inner).is_empty());
    assert_eq!(
        findings(NO_BOUNDARY, "pub enum Load { A }"),
        Vec::<String>::new()
    );
    assert_eq!(
        findings(NO_BOUNDARY, "#[repr(C)] pub struct S { a: u8 }").len(),
        1
    );
    assert_eq!(
        findings(NO_BOUNDARY, "#[repr(u8)] pub enum Load { A }").len(),
        1
    );
}

#[test]
fn rule_10_no_dependencies() {
    let line = items::dependency_line;
    assert_eq!(line("[package]\nname = \"a\"\n[dev-dependencies]\n"), None);
    assert_eq!(line("[package]\n[dependencies]\n"), Some(2));
    assert_eq!(
        line("[package]\n\n[target.'cfg(unix)'.dependencies]\n"),
        Some(3)
    );
    assert_eq!(line("[build-dependencies]\n"), Some(1));
}
