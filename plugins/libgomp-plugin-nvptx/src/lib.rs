//! `libgomp-plugin-nvptx.so.1`: GCC's libgomp loads it to run the target regions of OpenMP programs
//! on NVIDIA GPUs, over [`revoff_host`]. A program finds it by `LD_LIBRARY_PATH`, without being
//! compiled or linked again.
//!
//! Code that is not specific to these GPUs is in [`gomp_plugin`].
//!
//! Modules import only from modules below their own row:
//!
//! | module | job |
//! |---|---|
//! | `load` | loading an image |
//! | `launch` | launching its kernels |
//! | `settings` | environment variables |
//! | `image` | GCC's description of an image: the layouts of `mkoffload` |
//! | `error` | the errors of images |
//!
//! Source of the protocol: libgomp's `plugin/plugin-nvptx.c` and GCC's
//! `config/nvptx/mkoffload.cc`, of GCC 13 to 16; read for layouts and behaviour.

mod error;
mod image;
mod launch;
mod load;
mod settings;

use gomp_plugin::Kind;
use shared_abi::gomp::GOMP_VERSION_NVIDIA_PTX;

/// `OFFLOAD_TARGET_TYPE_NVIDIA_PTX`.
const TYPE_NVIDIA_PTX: std::ffi::c_int = 5;

gomp_plugin::plugin!(Kind {
    name: c"nvptx",
    gpus: "NVIDIA GPUs",
    image_type: TYPE_NVIDIA_PTX,
    image_version: GOMP_VERSION_NVIDIA_PTX,
    devices: "cuda",
    emulates: |arch| !arch.starts_with("gfx"),
    read: load::Nvptx::read,
});
