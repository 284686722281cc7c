//! Execution of instructions.
//!
//! | module | job |
//! |---|---|
//! | `launch` | a running kernel |
//! | `workgroup` | a workgroup: its waves, on one OS thread |
//! | `deadlock` | waves that wait for each other forever |
//! | `trace` | printing what a lane executes |
//! | `setup` | the registers of a wave at its begin |
//! | `code` | code that may be executed, and its steps |
//! | `lower` | the step for an instruction |
//! | `control` | branches, waits, messages, hardware registers |
//! | `scalar`, `scalar_table`, `scalar_float` | scalar arithmetic |
//! | `arithmetic`, `vector`, `packed`, `modifiers`, `mode` | vector arithmetic, and its modifiers |
//! | `lanes` | vector instructions across lanes |
//! | `relative`, `index_mode` | registers at a distance that M0 has |
//! | `flat`, `buffer`, `lds`, `scalar_memory` | accesses to memory |
//! | `perform`, `weak` | performing the access of a lane, and the same in weak memory mode |
//! | `address`, `space` | the memory at an address |
//! | `access`, `atomic`, `registers` | what an access does, atomic operations, elements in registers |
//! | `pending`, `caches` | what weak memory mode delays and keeps |
//! | `costs`, `calls` | what a wave does on the bus, and the calls that it makes |
//! | `check`, `outstanding` | what the race checker learns of a wave, and what is not complete |
//! | `counters` | counters of outstanding operations |
//! | `step` | an instruction with resolved operands |
//! | `group`, `kernel` | what the waves of a workgroup share, and all of a kernel |
//! | `wave`, `private_memory` | registers and private memory |
//! | `operand`, `flow` | resolved operands; what a wave does after an instruction |
//! | `register_counts` | numbers of registers |

mod access;
mod address;
mod arithmetic;
mod atomic;
mod buffer;
mod caches;
mod calls;
mod check;
mod code;
mod control;
mod costs;
mod counters;
mod deadlock;
mod flat;
mod flow;
mod group;
mod index_mode;
mod kernel;
mod lanes;
mod launch;
mod lds;
mod lower;
mod mode;
mod modifiers;
mod operand;
mod outstanding;
mod packed;
mod pending;
mod perform;
mod private_memory;
mod register_counts;
mod registers;
mod relative;
mod scalar;
mod scalar_float;
mod scalar_memory;
mod scalar_table;
mod setup;
mod space;
mod step;
mod trace;
mod vector;
mod wave;
mod weak;
mod workgroup;

pub(crate) use self::code::{Code, CodeOf, Region};
pub use self::kernel::{Dispatch, Trace};
pub(crate) use self::kernel::{Kernel, KernelCosts, LaunchCheck, workgroups};
pub(crate) use self::launch::RunningKernel;
pub(crate) use self::private_memory::max_private;
