//! ROCr's API, AMD's HSA runtime, on AMD GPUs that `gcn-emu` emulates, for programs in this process. The crate
//! `libhsa` in this folder makes it AMD's library `libhsa-runtime64.so.1`.
//!
//! It is stricter than ROCr where that helps to find faults: handles are looked up, memory is not zeroed and has exact
//! bounds, only agents with access may use it, the host cannot use a GPU's memory, and any function can be made to
//! fail. Strict GPUs, an option of [`add_gpu`], demand even more.
//!
//! Sources of the functions' behaviour, unless a file names others: "HSA Runtime Programmer's Reference Manual"
//! version 1.2, and ROCr's `hsa_ext_amd.h`.
//!
//! A module imports from modules below its own row alone:
//!
//! | module | job |
//! |---|---|
//! | [`functions`] | the table of all functions |
//! | [`api`] | the functions |
//! | `environment` | GPUs for programs that add none |
//! | [`runtime`] | the state of the process: agents, and what programs have created |
//! | `queue` | queues, and the threads that process their packets |
//! | `packet` | packets, and their validation |
//! | `packet_error` | why a packet is rejected |
//! | `code` | loading code objects |
//! | `gpu` | a GPU |
//! | `copy` | copy engines |
//! | `event` | events of the system |
//! | `signal` | signals, and waiting for them |
//! | `memory` | memory of all agents |
//! | `spec` | properties of GPUs by architecture |
//! | `status`, `pointers`, `faults`, `settings`, `clock` | results, arguments, injected failures, settings, time |

#![allow(
    clippy::too_many_arguments,
    reason = "as many as ROCr's functions have"
)]
#![allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "only C calls these functions, by their addresses"
)]

pub mod api;
mod clock;
mod code;
mod copy;
mod environment;
mod event;
mod faults;
pub mod functions;
mod gpu;
mod memory;
mod packet;
mod packet_error;
pub mod pointers;
mod queue;
pub mod runtime;
mod settings;
mod signal;
mod spec;
mod status;

pub use gcn_emu::{Arch, Fault, FaultKind, Ignored, Options, Trace, Weak};

pub use self::gpu::{GpuOptions, Report};
pub use self::memory::MAX_GPUS;
pub use self::runtime::{
    Counts, HeldCopies, add_gpu, agent_of, counts, fault_of, hold_copies, in_place, lose_gpu,
    remove_gpu, report_event,
};
