//! What libgomp's plugins for NVIDIA and AMD GPUs have in common: all that libgomp calls,
//! over [`host_rt`]. A plugin is a shared object that has this crate and one [`Kind`].
//!
//! OpenMP alone: OpenACC is left out, which libgomp is told by `GOMP_OFFLOAD_get_caps`.
//!
//! | module | job |
//! |---|---|
//! | [`kind`] | what plugins differ in |
//! | `entry` | the functions that libgomp calls |
//! | `interface` | exporting them |
//! | [`libgomp`] | the functions of libgomp's that are called here |
//! | `plugin` | the devices, by number |
//! | `choice` | which devices there are |
//! | [`device`] | a device: its memory and its images |
//! | `spare` | memory of launches, which the next ones use again |
//! | [`image`] | what descriptions of images have in common |
//! | `load` | loading an image, and the tables that libgomp is told |
//! | `pin` | keeping shared objects with images loaded |
//! | [`region`] | launching a target region |
//! | `requires` | what a program requires of devices |
//! | `reverse` | calling what a region runs on the host |
//! | `abort` | saying which host region ended the process |
//! | [`settings`] | environment variables |
//!
//! Source of the protocol: libgomp's `libgomp-plugin.h` and `target.c` of GCC 13 to 16; read
//! for layouts and behaviour.

mod abort;
mod choice;
pub mod device;
#[doc(hidden)]
pub mod entry;
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
mod spare;

pub use device::Device;
pub use kind::{Code, Function, Gpu, Kernels, Kind};
pub use spare::Lent;
