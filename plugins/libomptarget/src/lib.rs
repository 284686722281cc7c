//! `libomptarget.so.22.1`: LLVM's offload runtime over [`host_rt`]. Programs that clang and
//! rustc built for offloading find it by `LD_LIBRARY_PATH` in the place of LLVM's own, and are
//! neither compiled nor linked anew.
//!
//! A module imports from modules below its own row alone:
//!
//! | module | job |
//! |---|---|
//! | `entry` | the functions that programs call: those of compilers, and OpenMP's routines |
//! | `region` | launching target regions |
//! | `task` | constructs that go on while their task is away; dependences that the device resolves |
//! | `mapping` | what constructs do with data |
//! | `registry` | what is registered, its images, and the devices that there are for it |
//! | `device` | a device: its memory, its copies, its table of what is mapped |
//! | `args` | the arguments of constructs |
//! | `settings` | environment variables |
//! | `report` | what users are told |
//! | `abi` | layouts of compilers, and libomp's functions |
//! | `locks` | locks that survive a panic |
//!
//! Source of the protocol: `offload/libomptarget` and `offload/include` of LLVM 22 for what
//! happens and is said when; `clang/lib/CodeGen` for what is called.

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
