//! Tasks that use data which may be dropped before they run must fail to compile.
//!
//! `TRYBUILD=overwrite cargo test -p host-rt --test ui` rewrites the expected messages, which are
//! those of the toolchain that `rust-version` names.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
