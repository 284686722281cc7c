//! `libgomp-plugin-nvptx.so.1`: what GCC's libgomp loads to run the target regions of
//! OpenMP programs on NVIDIA GPUs, over [`host_rt`]. A program finds it by
//! `LD_LIBRARY_PATH` and is neither compiled nor linked anew.
//!
//! OpenMP alone: OpenACC is left out, which libgomp is told by `GOMP_OFFLOAD_get_caps`.
//!
//! | module | job |
//! |---|---|
//! | `entry` | the functions that libgomp calls |
//! | `libgomp` | the functions of libgomp's that are called here |
//! | `plugin` | the devices, by number |
//! | `device` | a device: its memory and its images |
//! | `image` | what GCC says of an image: the layouts of `mkoffload` |
//! | `load` | loading an image, and the tables that libgomp is told |
//! | `pin` | keeping shared objects with images loaded |
//! | `region` | launching a target region |
//! | `stacks` | memory for the stacks of GCC's device threads |
//! | `reverse` | calling what a region runs on the host |
//! | `abort` | saying which host region ended the process |
//! | `settings` | environment variables |
//!
//! Source of the protocol: libgomp's `libgomp-plugin.h`, `target.c` and
//! `plugin/plugin-nvptx.c`, and GCC's `config/nvptx/mkoffload.cc`, of GCC 13 to 16; read
//! for layouts and behaviour.

mod abort;
mod device;
mod entry;
mod image;
mod libgomp;
mod load;
mod pin;
mod plugin;
mod region;
mod reverse;
mod settings;
mod stacks;
