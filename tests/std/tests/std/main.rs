//! Rust's `std` on devices: one program, on a device and on this machine.

mod commands;
mod examples;
mod heap;
mod library;
mod programs;
