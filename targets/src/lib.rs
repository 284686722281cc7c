//! What differs between GPU architectures, in tables rather than in code.
//!
//! | module | job |
//! |---|---|
//! | [`arch`] | the architectures that images are built for, one row each |
//! | [`device_arch`] | what a device says it is, any model, and what runs there |
//! | [`offload_binary`] | one file with images for several architectures, in LLVM's format |
//! | [`code_object`] | what a code object says of itself and its kernels |
//! | [`choose`](mod@choose) | which of several images suits a device best |
//! | [`ptx`] | what stands in a PTX file |
//! | [`gcc`] | images that GCC links, and making room in them for device-rt |
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
pub mod gcc;
pub mod offload_binary;
pub mod ptx;

pub use arch::{Arch, Target};
pub use device_arch::DeviceArch;
