//! What must not compile: tasks that use what may go before they run.
//!
//! `TRYBUILD=overwrite cargo test -p host-rt --test ui` writes the expected messages anew;
//! they are those of the toolchain that `rust-version` names.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
