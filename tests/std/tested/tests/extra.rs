//! A test of a feature: without it, this is not built.

#[test]
fn has_the_feature() {
    assert!(cfg!(feature = "extra"));
}
