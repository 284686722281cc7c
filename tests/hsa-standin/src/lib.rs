//! A stand-in for ROCr: the functions of `libhsa-runtime64.so.1` that host-rt calls, on top of
//! host-rt's own `host` device. Everything that is written for ROCr runs with it on any
//! machine; what a GPU would do differently from threads of the process it cannot show.
//!
//! It is stricter than ROCr, and meant to be: handles are numbers that are looked up and never
//! used again, memory is not zeroed, only agents that were allowed to use memory may, a GPU has
//! one copy engine, which does one copy after the other, whatever they wait for, and any kernel
//! fills it, so that a copy within it that is a kernel waits for those before, and packets say
//! what a GPU has to be told for what runs here by itself: that they wait for those before, and
//! that both sides see what the other has written.
//!
//! | module | job |
//! |---|---|
//! | `state`, `system`, `faults` | the agents and what was made and not given back; what is known of the runtime; calls that are to fail |
//! | `agent`, `pool`, `memory`, `signal`, `queue`, `copy`, `code`, `event` | functions |
//! | `packet` | what packets of a queue say, and are refused for |
//! | `zombies` | what kernels keep that run on when their queue is gone |
//! | `earlier` | functions of HSA 1.0, which GCC's own plugin calls and host-rt does not |
//! | [`image`] | the code objects that stand for images |
//! | `content` | what is loaded: an image that one stands for, or a compiler's own code object |
//! | `placed`, `simulated` | a compiler's code object in memory; what its kernels do |
//! | [`loader`] | putting it in ROCr's place |
//!
//! | variable | meaning |
//! |---|---|
//! | `REVOFF_HSA_STAND_IN` | 1: tests use it even where there is a GPU |
//! | `REVOFF_HSA_STAND_IN_DEVICES` | number of GPUs (2) |
//! | `REVOFF_HSA_STAND_IN_PACKETS` | most packets of a queue (131072) |
//! | `REVOFF_HSA_STAND_IN_KERNELS` | a shared object with simulated kernels, by which those of a compiler's code object are replaced |
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
