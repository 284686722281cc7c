//! Execution of instructions.
//!
//! | module | job |
//! |---|---|
//! | `launch` | a running kernel |
//! | `workgroup` | a workgroup: its waves, on one OS thread |
//! | `deadlock` | detection of waves that wait for each other forever |
//! | `trace` | printed trace of a lane |
//! | `setup` | initial registers of a wave |
//! | `code` | loaded code and its steps |
//! | `lower` | lowering of instructions to steps |
//! | `control` | branches, waits, messages, hardware registers |
//! | `scalar`, `scalar_table`, `scalar_float` | scalar arithmetic |
//! | `arithmetic`, `vector`, `packed`, `modifiers`, `mode` | vector arithmetic, its modifiers, the mode of floats |
//! | `lanes` | vector instructions across lanes |
//! | `relative`, `index_mode` | registers at a distance that M0 has |
//! | `flat`, `buffer`, `lds`, `scalar_memory` | accesses to memory |
//! | `perform`, `weak` | access of a lane, directly and in weak memory mode |
//! | `address`, `space` | memory at an address; address spaces |
//! | `access`, `atomic`, `registers` | kinds of accesses, atomic operations, elements in registers |
//! | `pending`, `caches` | delayed accesses and caches of weak memory mode |
//! | `costs`, `calls` | counts of a wave's bus traffic; its call stack |
//! | `check`, `outstanding` | clocks of a wave for the race checker, and its outstanding accesses |
//! | `counters` | counters of outstanding operations |
//! | `step` | an instruction with resolved operands |
//! | `group`, `kernel` | state shared by the waves of a workgroup, and of a kernel |
//! | `wave`, `private_memory` | registers and private memory |
//! | `operand`, `flow` | resolved operands; control flow after an instruction |
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
