//! The revoff command: devices, images, runs and benchmarks of reverse offload.
fn main() {}
