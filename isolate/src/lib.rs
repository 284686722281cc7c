//! Runs parts of a program in processes of their own, with exactly the files and the network that they are
//! given.
//!
//! An image for the device `host` is native code of its process, and so is the driver of a GPU. A fault
//! of theirs ends the process, and nothing keeps them from the user's files. A [`Job`] that loads the
//! image, binds host functions and launches kernels has a process of its own: a crash of it is an
//! [`Error`] of [`Job::run`], and its [`Sandbox`] contains what it may reach. Calls from kernels to host
//! functions stay in that process, so they cost what they cost without it.
//!
//! | file | job |
//! |---|---|
//! | `job` | starting the process, and its result |
//! | `message` | what both sides send |
//! | `sandbox` | the description of a sandbox, and the way into it |
//! | `namespaces` | the root folder of its own |
//! | `landlock` | access to files, and signals |
//! | `filter` | system calls (seccomp) |
//! | `grant` | the files of a sandbox |
//! | `signals` | names of signals |
//! | `error` | errors |
//!
//! Only Linux is supported, on x86-64, AArch64 and RISC-V.

mod error;
mod filter;
mod grant;
mod job;
mod landlock;
mod message;
mod namespaces;
mod sandbox;
mod signals;

pub use self::error::Error;
pub use self::job::{Isolated, Job, JobError, init, send_result};
pub use self::sandbox::{Mechanism, Missing, Report, Sandbox};
