//! CUDA's runtime API, version 12, on top of the driver API: `libcudart.so.12` for programs whose kernels are
//! launched with `<<<>>>`. It loads the driver when it is first needed, and uses its documented functions only.
//! NVIDIA's own library does not run on a driver that is not NVIDIA's: it has the driver prove its origin.
//!
//! Sources of the functions' behaviour: NVIDIA's "CUDA Runtime API", and `crt/host_runtime.h` for the functions
//! that compilers call.
//!
//! A module imports from modules below its own row alone:
//!
//! | module | job |
//! |---|---|
//! | `api` | the functions |
//! | `registry` | the program's kernels and variables |
//! | `context` | devices and their primary contexts |
//! | `result` | the result of a function in C's form |
//! | `thread` | a thread's device, last error and pending launches |
//! | `pointers`, `sync` | arguments, locks |
//! | `driver` | the driver's functions |
//! | `error` | results |

#![allow(missing_docs, reason = "NVIDIA documents its functions")]
#![allow(non_snake_case, reason = "NVIDIA's names")]
#![allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "only C calls these functions"
)]
#![allow(
    clippy::too_many_arguments,
    reason = "as many as NVIDIA's functions have"
)]

pub mod api;
mod context;
mod driver;
mod error;
mod pointers;
mod registry;
mod result;
mod sync;
mod thread;
