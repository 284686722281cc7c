//! The serving threads and the tasks of host-rt in random schedules.
//!
//! The code is too large for [loom](https://docs.rs/loom) to explore every schedule of it, as
//! `tests/model` does with its parts. [Shuttle](https://docs.rs/shuttle) runs it in many schedules
//! that it chooses at random, all with sequentially consistent memory.
//!
//! This crate compiles host-rt's own source files, with shuttle's primitives
//! ([`base::sync`]) instead of the standard library's. Their paths in the crate are those of host-rt.
//! Stand-ins replace what those files need and what has no part in the schedules:
//!
//! | module | host-rt's own | stand-ins |
//! |---|---|---|
//! | `base` | addresses, spans, messages of errors | the primitives, durations of sleeps |
//! | `serve` | state machine of the threads, poller, main loop, wake word, states of calls | waiting, running functions, aborting calls, text |
//! | `task` | everything | |
//! | `device`, `runtime` | | a device whose queues are threads, and kernels that are closures |
//! | `wire` | polling, falling asleep | a wire that is a list of requests |
//!
//! [`explore`] runs a model in random schedules.

// `cargo test --lib` builds it, too: host-rt's own tests in these files need what host-rt depends on.
#![cfg(not(test))]

pub mod base;
pub mod device;
mod explore;
pub mod runtime;
pub mod serve;
pub mod services;
#[path = "../../../../host-rt/src/task/mod.rs"]
pub mod task;
pub mod wire;

pub use self::base::random::{chance, pause, up_to};
pub use self::explore::explore;
pub use self::task::error::{Error, Result};
