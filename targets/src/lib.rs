//! The differences between GPU architectures, in tables rather than in code.
//!
//! | module | job |
//! |---|---|
//! | [`arch`] | the architectures that images are built for, one row each |
//! | [`device_arch`] | the architecture of a device, and which code runs there |
//! | [`offload_binary`] | one file with images for several architectures, in LLVM's format |
//! | [`fatbin`] | one file with PTX and cubins for several architectures, in NVIDIA's format |
//! | [`code_object`] | metadata of code objects and their kernels |
//! | [`choose`](mod@choose) | choice of the best image for a device |
//! | [`ptx`] | the contents of a PTX file |
//! | [`gcc`] | images that GCC links, and replacing a function in them by device-rt's |
//!
//! ```
//! use targets::choose::{Candidate, choose};
//! use targets::offload_binary::{Entry, ImageKind, OffloadKind, read, write};
//!
//! let entry = |arch, image| Entry {
//!     image_kind: ImageKind::PTX,
//!     offload_kind: OffloadKind::CUDA,
//!     triple: "nvptx64-nvidia-cuda",
//!     arch,
//!     image,
//! };
//! let file = write(&[entry("sm_70", b"for Volta"), entry("sm_90", b"for Hopper")]);
//!
//! let entries = read(&file)?;
//! let candidates: Vec<_> = entries.iter().map(Candidate::from).collect();
//! let ampere = "sm_86".parse()?;
//! assert_eq!(entries[choose(&ampere, &candidates)?].image, b"for Volta");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod arch;
pub mod choose;
pub mod code_object;
pub mod count;
pub mod device_arch;
pub mod fatbin;
pub mod gcc;
pub mod offload_binary;
pub mod ptx;

pub use arch::{Arch, Target};
pub use device_arch::DeviceArch;
