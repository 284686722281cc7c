//! Builds device images.
//!
//! ```no_run
//! // In build.rs of the crate that loads the images, which then finds them at
//! // env!("REVOFF_IMAGE_..."):
//!
//! // for the `host` device, a shared object,
//! revoff_build::kernel_crate("kernel").export("REVOFF_IMAGE_MY_KERNEL");
//! // for GPUs and the `host` device, one file with images for all of these.
//! revoff_build::images("kernel")
//!     .arch("sm_70")
//!     .arch("gfx90a")
//!     .host()
//!     .build()
//!     .export("REVOFF_IMAGES_MY_KERNEL");
//! ```
//!
//! A kernel crate is a `no_std` library that calls `revoff_device::image!()`. A separate cargo builds
//! it, with its own panic strategy and without features that other crates of the workspace enable.
//! If one of its sources changes, it is built again.
//!
//! GPUs require a compiler with the source of `core` ([`device::Toolchain`]); cubins also require
//! NVIDIA's assembler ([`device::Assemblers`]).
//!
//! All of a workspace's kernel crates are compiled in one folder of its target directory; the
//! environment variable [`WORK`] names another, which workspaces may share.
//!
//! With the environment variable [`SKIP`] set, an empty file replaces each image, for `cargo doc`,
//! an editor, or a machine without such a compiler; loading it fails with "it is empty".

pub mod device;
mod emulated_driver;
mod error;
mod file;
mod host;
mod krate;
mod library;
mod messages;
pub mod package;
mod piece;
pub mod pieces;
pub mod program;
mod replace;
mod script;
mod sources;
mod version_script;
mod work;

pub use emulated_driver::emulated_driver;
pub use error::{BuildError, NoCrate, RUSTC};
pub use file::{Images, images, write_file};
pub use host::{c_image, host_image, host_library, kernel_crate, static_library};
pub use library::{EMULATED_DRIVERS, Library};
pub use piece::ptx;
pub use script::{Artifact, SKIP};
pub use sources::sources;
pub use work::WORK;

/// The file name of images of the kernel crate in the folder `dir`.
///
/// # Errors
/// There is no such crate.
pub fn file_name(dir: &std::path::Path) -> Result<String, BuildError> {
    krate::Crate::at(dir).map(|krate| krate.file)
}
