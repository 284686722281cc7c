//! A stand-in for NVIDIA's driver: the functions of `libcuda.so` that host-rt calls, implemented
//! with host-rt's own `host` device. All code for the driver runs with it on any machine, but it
//! cannot show how a GPU differs from threads of the process.
//!
//! It is stricter than the driver on purpose: handles are numbers that are looked up and never
//! reused, a copy happens when its stream gets to it and not before, memory is not zeroed, the
//! default stream is rejected, and resources that a context still holds when it is destroyed count
//! as leaked.
//!
//! | module | functions |
//! |---|---|
//! | `driver` | the state of the process, `cuInit`, contexts |
//! | `device`, `memory`, `copy`, `stream`, `event`, `launch`, `module`, `link` | the functions for these |
//! | `code`, `faults`, `pointers` | results, injected failures, and arguments of functions |
//! | [`image`] | texts that represent images |
//! | [`loader`] | loading it instead of the driver |
//!
//! | variable | meaning |
//! |---|---|
//! | `REVOFF_STAND_IN` | 1: tests use it even where there is a driver |
//! | `REVOFF_STAND_IN_VERSION` | the driver's version (12040) |
//! | `REVOFF_STAND_IN_DEVICES` | number of devices (2) |
//! | `REVOFF_STAND_IN_UNIFIED`, `_POOLS` | 0: no unified addressing, no memory pools |
//! | `REVOFF_STAND_IN_WAITS` | 1: freeing pinned memory or a module waits for all kernels |
//! | `REVOFF_STAND_IN_DELAY` | microseconds before each copy (0) |
//! | `REVOFF_STAND_IN_FAIL` | `cuMemHostAlloc:3=2`: the third call answers 2, with `*` each; a list with commas |
//!
//! Memory and stacks are those of `host`: `REVOFF_HOST_MEMORY`, `REVOFF_HOST_STACK`.

mod code;
mod context;
mod copy;
mod device;
mod driver;
mod event;
mod faults;
pub mod image;
mod jit;
mod launch;
mod link;
pub mod loader;
mod memory;
mod module;
mod pointers;
mod stream;
