//! The runtime, as programs use it: by its functions' names.

#![expect(clippy::print_stdout, reason = "tests say what they skip")]

mod agents;
mod assemble;
mod copies;
mod faults;
mod gpu;
mod loader;
mod lost;
mod memory;
mod mutations;
mod packets;
mod queue;
mod queues;
mod random;
mod signals;
