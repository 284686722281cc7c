//! A test outside the library.

#[test]
fn outside() {}
