//! Builds device images.
//!
//! ```no_run
//! // In build.rs of the crate that loads the images, which then finds them at
//! // env!("REVOFF_IMAGE_..."):
//!
//! // for the `host` device, a shared object,
//! image_build::kernel_crate("kernel").export("REVOFF_IMAGE_MY_KERNEL");
//! // for GPUs and the `host` device, one file with images for all of these.
//! image_build::images("kernel")
//!     .arch("sm_70")
//!     .arch("gfx90a")
//!     .host()
//!     .build()
//!     .export("REVOFF_IMAGES_MY_KERNEL");
//! ```
//!
//! A kernel crate is a `no_std` library that calls `device_rt::image!()`. It is
//! built by a cargo of its own, with its own panic strategy and without the
//! features that other crates of the workspace ask for. Its sources are watched:
//! a change builds it again.
//!
//! GPUs take a compiler with the source of `core` ([`device::Toolchain`]), and
//! assemblers for NVIDIA's only where cubins are wanted ([`device::Assemblers`]).
//!
//! All of a workspace's kernel crates are compiled in one folder of its target directory; the
//! environment variable [`WORK`] names another, which workspaces may share.
//!
//! With the environment variable [`SKIP`] set, nothing is built and an empty file
//! takes each image's place, for `cargo doc`, an editor, or a machine without such a
//! compiler; loading it fails with "it is empty".

pub mod device;
mod error;
mod file;
mod host;
mod krate;
mod messages;
mod piece;
mod script;
mod work;

pub use error::{BuildError, RUSTC};
pub use file::{Images, images, write_file};
pub use host::{c_image, c_shared_object, host_image, host_library, kernel_crate, static_library};
pub use piece::ptx;
pub use script::{Artifact, SKIP};
pub use work::WORK;

/// The name that the files of the kernel crate in the folder `dir` have.
///
/// # Errors
/// There is no such crate.
pub fn file_name(dir: &std::path::Path) -> Result<String, BuildError> {
    krate::Crate::at(dir).map(|krate| krate.file)
}
