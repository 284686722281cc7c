//! What must not compile, and that the reason is said where it is.
//!
//! `TRYBUILD=overwrite cargo test --test ui` writes the expected messages anew;
//! they are those of the toolchain that `rust-version` names.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
