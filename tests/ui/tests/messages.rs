//! Wrong uses must fail to compile with an error at the right place; and the compiler's hint must
//! compile when followed.
//!
//! `TRYBUILD=overwrite cargo test -p ui --features host` rewrites the expected messages, which are those of the
//! toolchain that `rust-version` names.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn messages() {
    let cases = trybuild::TestCases::new();
    for of in ["macros", "host-fn"] {
        cases.compile_fail(format!("{of}/*.rs"));
    }
    if cfg!(feature = "host") {
        cases.compile_fail("host-rt/*.rs");
    }
}

/// Pastes the lines that a message asks for before a structure, in a crate that depends only on
/// `host-fn`, like a user's: the name `zerocopy` is not in scope.
#[test]
fn the_hint_for_a_structure_compiles() {
    let messages = fs::read_to_string("host-fn/not_plain.stderr").expect("expected messages");
    let hint: Vec<_> = messages
        .lines()
        .skip_while(|line| !line.contains("a structure of your own"))
        .skip(1)
        .map(str::trim)
        .take_while(|line| line.starts_with("#["))
        .collect();
    assert!(!hint.is_empty(), "no attributes in the hint: {messages}");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host-fn");
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = tmp.join("hint");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let manifest = format!(
        "[package]\nname = \"hint\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\nrevoff-fn = {{ path = {source:?} }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).expect("written");
    fs::copy(source.join("../Cargo.lock"), folder.join("Cargo.lock")).expect("copied");
    let source = format!(
        "{}\npub struct Point {{\n    pub x: u32,\n    pub y: u32,\n}}\n\n\
         revoff_fn::host_functions! {{\n    pub fn plot(at: Point, all: &[Point]);\n}}\n",
        hint.join("\n")
    );
    fs::write(folder.join("src/lib.rs"), source).expect("written");
    let status = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--offline", "--target-dir"])
        // The macros are compiled there already.
        .arg(tmp.join(".."))
        .current_dir(&folder)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the hint does not compile: {status}");
}
