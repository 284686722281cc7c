//! Tests of Rust's `std` on devices: see `tests/programs.rs`.
