//! `libgomp-plugin-gcn.so.1`: GCC's libgomp loads it to run the target regions of OpenMP programs
//! on AMD GPUs, over [`revoff_host`]. A program finds it by `LD_LIBRARY_PATH`, without being compiled
//! or linked again.
//!
//! Code that is not specific to these GPUs is in [`gomp_plugin`].
//!
//! Modules import only from modules below their own row:
//!
//! | module | job |
//! |---|---|
//! | `load` | loading an image |
//! | `launch` | launching its kernels |
//! | `memory` | memory for stacks and arenas, and shared memory |
//! | `grid` | the teams and threads of a launch |
//! | `ending` | the end of a kernel by `exit` or `abort` |
//! | `arguments` | the arguments that GCC's device code reads |
//! | `image` | GCC's description of an image: the layouts of `mkoffload` |
//! | `tables` | the tables in the image itself |
//! | `settings` | environment variables |
//! | `error` | the errors of images and launches |
//!
//! Source of the protocol: libgomp's `plugin/plugin-gcn.c` and `config/gcn/libgomp-gcn.h`, and
//! GCC's `config/gcn/mkoffload.cc`, of GCC 13 to 16; read for layouts and behaviour.

mod arguments;
mod ending;
mod error;
mod grid;
mod image;
mod launch;
mod load;
mod memory;
mod settings;
mod tables;

use gomp_plugin::Kind;
use shared_abi::gomp::GOMP_VERSION_GCN;

/// `OFFLOAD_TARGET_TYPE_GCN`.
const TYPE_GCN: std::ffi::c_int = 8;

gomp_plugin::plugin!(Kind {
    name: c"gcn",
    gpus: "AMD GPUs",
    image_type: TYPE_GCN,
    image_version: GOMP_VERSION_GCN,
    devices: "hsa",
    emulates: |arch| arch.starts_with("gfx"),
    read: load::Gcn::read,
});
