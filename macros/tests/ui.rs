//! Wrong uses must fail to compile with an error at the right place.
//!
//! `TRYBUILD=overwrite cargo test --test ui` rewrites the expected messages, which are those of the
//! toolchain that `rust-version` names.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
