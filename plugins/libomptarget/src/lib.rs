//! `libomptarget.so.22.1`: LLVM's offload runtime over [`host_rt`]. Programs that clang and
//! rustc built for offloading find it by `LD_LIBRARY_PATH` in the place of LLVM's own, and are
//! neither compiled nor linked anew.
//!
//! | module | job |
//! |---|---|
//! | `entry` | the functions that compilers call |
//! | `api` | OpenMP's routines for device memory |
//! | `interop` | OpenMP's `interop` construct |
//! | `abi` | what compilers put into programs |
//! | `registry` | what is registered, and the devices that there are for it |
//! | `library` | a registered program or library, and its images on devices |
//! | `host_functions` | functions of a program that its device code calls |
//! | `host_call` | functions that device code calls by their address |
//! | `unsuitable` | why images do not run on devices |
//! | `device` | a device: its memory, its table, its queues |
//! | `environment` | what LLVM's device runtime reads of its host |
//! | `table`, `mapped`, `counts` | what is mapped, and how often |
//! | `args` | the arguments of constructs |
//! | `begin`, `end`, `update` | what constructs do with data |
//! | `section` | array sections that are not contiguous |
//! | `mapper` | mappers that the program defines |
//! | `private` | data that each construct has a copy of |
//! | `region` | launching target regions |
//! | `task` | constructs that go on while their task is away |
//! | `depend` | dependences of target tasks that the device resolves |
//! | `stream` | the copies of one construct |
//! | `literals` | values that rustc 1.96 passes as if they were mapped |
//! | `libomp` | functions of LLVM's OpenMP runtime |
//! | `settings` | environment variables |
//! | `message`, `info`, `source` | what users are told, and of which place in the source |
//! | `profile` | a trace of what took how long |
//! | `locks` | what is locked |
//!
//! Source of the protocol: `offload/libomptarget` and `offload/include` of LLVM 22 for what
//! happens and is said when; `clang/lib/CodeGen` for what is called.

mod abi;
mod api;
mod args;
mod begin;
mod counts;
mod depend;
mod device;
mod end;
mod entry;
mod environment;
mod host_call;
mod host_functions;
mod info;
mod interop;
mod libomp;
mod library;
mod literals;
mod locks;
mod mapped;
mod mapper;
mod message;
mod private;
mod profile;
mod region;
mod registry;
mod section;
mod settings;
mod source;
mod stream;
mod table;
mod task;
mod unsuitable;
mod update;
