//! `libomptarget.so.22.1`: LLVM's offload runtime over [`revoff_host`]. Programs that clang and
//! rustc built for offloading load it by `LD_LIBRARY_PATH` instead of LLVM's own, without being
//! compiled or linked again.
//!
//! Modules import only from modules below their own row:
//!
//! | module | job |
//! |---|---|
//! | `entry` | functions that programs call: compilers' calls, and OpenMP's routines |
//! | `region` | launching target regions |
//! | `task` | constructs that continue while their task is suspended; dependences that devices resolve |
//! | `mapping` | mapping, unmapping and updating the data of constructs |
//! | `registry` | registered programs, their images and devices |
//! | `device` | a device: its memory, its copies, its mapping table |
//! | `args` | the arguments of constructs |
//! | `settings` | environment variables |
//! | `report` | messages, source locations, profile |
//! | `abi` | layouts of compilers, and libomp's functions |
//! | `locks` | locks that survive a panic |
//!
//! Source of the protocol: `offload/libomptarget` and `offload/include` of LLVM 22 for behaviour
//! and messages; `clang/lib/CodeGen` for the functions that are called.

mod abi;
mod args;
mod device;
mod entry;
mod locks;
mod mapping;
mod region;
mod registry;
mod report;
mod settings;
mod task;
