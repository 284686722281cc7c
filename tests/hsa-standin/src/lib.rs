//! A stand-in for ROCr: the functions of `libhsa-runtime64.so.1` that host-rt calls, implemented
//! with host-rt's own `host` device. All code for ROCr runs with it on any machine, but it cannot
//! show how a GPU differs from threads of the process.
//!
//! It is stricter than ROCr on purpose. Handles are numbers that are looked up and never reused.
//! Memory is not zeroed, and only agents with access may use it. A GPU has one copy engine, which
//! performs copies in order, whatever they wait for. Any kernel fills the GPU, so that a copy
//! within it that is a kernel waits for earlier ones. Packets must declare what a GPU needs and
//! threads do not: that they wait for earlier ones, and that both sides see each other's writes.
//!
//! | module | job |
//! |---|---|
//! | `state`, `system`, `faults` | the agents and unfreed resources; properties of the runtime; injected failures |
//! | `agent`, `pool`, `memory`, `signal`, `queue`, `copy`, `code`, `event` | functions |
//! | `packet` | packets of a queue, and their validation |
//! | `zombies` | resources of kernels that run on after their queue was destroyed |
//! | `earlier` | functions of HSA 1.0, which GCC's own plugin calls and host-rt does not |
//! | [`image`] | code objects that represent images |
//! | `content` | loaded code: the image that one represents, or a compiler's own code object |
//! | `placed`, `simulated` | a compiler's code object in memory; its simulated kernels |
//! | [`loader`] | loading it instead of ROCr |
//!
//! | variable | meaning |
//! |---|---|
//! | `REVOFF_HSA_STAND_IN` | 1: tests use it even where there is a GPU |
//! | `REVOFF_HSA_STAND_IN_DEVICES` | number of GPUs (2) |
//! | `REVOFF_HSA_STAND_IN_PACKETS` | maximum packets of a queue (131072) |
//! | `REVOFF_HSA_STAND_IN_KERNELS` | a shared object with simulated kernels, which replace those of a compiler's code object |
//! | `REVOFF_HSA_STAND_IN_FAULT` | 1: a kernel that faults does so by an access to memory |
//! | `REVOFF_HSA_STAND_IN_FAIL` | `hsa_queue_create:3=4104`: the third call answers that, with `*` each; a list with commas |
//!
//! Memory and stacks are those of `host`: `REVOFF_HOST_MEMORY`, `REVOFF_HOST_STACK`.

mod agent;
mod code;
mod content;
mod copy;
mod earlier;
mod event;
mod faults;
pub mod image;
pub mod loader;
mod memory;
mod packet;
mod placed;
mod pool;
mod queue;
mod signal;
mod simulated;
mod state;
mod system;
#[cfg(test)]
mod tests;
mod zombies;
