//! The runtime, as programs use it: by its functions' names.

mod agents;
mod assemble;
mod copies;
mod faults;
mod gpu;
mod loader;
mod memory;
mod mutations;
mod packets;
mod queue;
mod queues;
mod random;
mod signals;
