//! A test that requires a feature: without it, this is not built.

#[test]
fn has_the_feature() {}
