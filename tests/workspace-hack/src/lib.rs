//! Empty: the manifest says what this crate is for.
