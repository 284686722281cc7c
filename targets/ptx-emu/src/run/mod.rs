//! Running kernels.
//!
//! A file imports from files below its own row alone:
//!
//! | file | job |
//! |---|---|
//! | `running` | how processors run the blocks of a launch |
//! | `block` | a block's turn: its warps, barriers and faults |
//! | `exec` | executing instructions |
//! | `asynchronous` | asynchronous copies and `mbarrier` objects |
//! | `cluster` | clusters of one block |
//! | `matrix` | instructions on matrices |
//! | `fast_path` | the quick way through arithmetic, jumps and weak accesses |
//! | `compute` | executing arithmetic instructions |
//! | `access` | loads, stores and atomic operations of lanes |
//! | `rendezvous` | collective instructions: waiting for their members |
//! | `deadlock` | detecting a block whose threads wait for each other |
//! | `calls` | calls, returns and exits of lanes |
//! | `schedule` | which group of a warp runs next; divergence and merging |
//! | `converge` | waits at reconvergence points |
//! | `progress` | abandoning those waits |
//! | `fault` | faults of lanes |
//! | `warp` | the state of a warp |
//! | `block_state` | the state that the warps of a block share, and its barriers |
//! | `checked_memory` | accesses without registers |
//! | `descriptor` | matrices in shared memory that several warps multiply |
//! | `mbarrier` | the `mbarrier` objects of a block |
//! | `copies` | asynchronous copies that have not happened |
//! | `cluster_barrier` | the barrier of a cluster |
//! | `system` | functions of the system: `malloc`, `printf` and others |
//! | `space` | state spaces, and the windows of generic addresses |
//! | `private_memory` | local and shared memory |
//! | `memory_ref` | accesses of host memory |
//! | `group` | groups of lanes, and reconvergence points |
//! | `spinning` | signs that a group is spinning |
//! | `frame` | active calls and their registers |
//! | `costs` | what a warp does on the bus |
//! | `launch` | a running kernel: its parameters, blocks, result |
//! | `collective` | the results of collective instructions |
//! | `atomic` | the results of atomic operations |

mod access;
mod asynchronous;
mod atomic;
mod block;
mod block_state;
mod calls;
mod checked_memory;
mod cluster;
mod cluster_barrier;
mod collective;
mod compute;
mod converge;
mod copies;
mod costs;
mod deadlock;
mod descriptor;
mod exec;
mod fast_path;
mod fault;
mod frame;
mod group;
mod launch;
mod matrix;
mod mbarrier;
mod memory_ref;
mod private_memory;
mod progress;
mod rendezvous;
mod running;
mod schedule;
mod space;
mod spinning;
mod system;
mod warp;

pub(crate) use self::launch::{Check, Launch, LaunchConfig};
pub use self::launch::{OnEnd, Trace};
