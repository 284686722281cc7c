//! The common code of libgomp's plugins for NVIDIA and AMD GPUs: all functions that libgomp calls,
//! over [`host_rt`]. A plugin is a shared object that consists of this crate and one [`Kind`].
//!
//! It supports only OpenMP, and not OpenACC, as `GOMP_OFFLOAD_get_caps` reports to libgomp.
//!
//! | module | job |
//! |---|---|
//! | [`kind`] | the differences between plugins |
//! | `entry` | the functions that libgomp calls |
//! | `interface` | exporting them |
//! | [`libgomp`] | libgomp's functions that are called here |
//! | `plugin` | the devices, by number |
//! | `choice` | the choice of devices |
//! | [`device`] | a device: its memory and its images |
//! | `block_cache` | reuse of memory by launches |
//! | [`error`] | the errors |
//! | [`image`] | the common parts of descriptions of images |
//! | `load` | loading an image, and the tables for libgomp |
//! | `pin` | keeping shared objects with images loaded |
//! | [`region`] | launching a target region |
//! | `requires` | the requirements of a program |
//! | `reverse` | calling host regions |
//! | `abort` | reporting the host region that aborted the process |
//! | [`settings`] | environment variables |
//!
//! Source of the protocol: libgomp's `libgomp-plugin.h` and `target.c` of GCC 13 to 16; read
//! for layouts and behaviour.

mod abort;
mod block_cache;
mod choice;
pub mod device;
#[doc(hidden)]
pub mod entry;
pub mod error;
pub mod image;
mod interface;
pub mod kind;
pub mod libgomp;
mod load;
mod pin;
mod plugin;
pub mod region;
mod requires;
mod reverse;
pub mod settings;

pub use block_cache::CachedBlock;
pub use device::Device;
pub use error::{Error, Result};
pub use kind::{Code, Function, Gpu, Kernels, Kind};
