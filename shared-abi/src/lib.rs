//! Everything that the two sides of a reverse-offload call must agree on.
//!
//! A kernel on a device (see `device-rt`) publishes a request in memory that the host can see; the
//! host (see `host-rt`) takes it, runs a function and completes it. This crate holds only the
//! `repr(C)` layouts and the constants of that exchange: no algorithm, no allocation, no
//! dependency.
//!
//! `RULES.md` beside this crate states which types this crate may contain, and why; `cargo xtask
//! check-abi` enforces it. `include/` holds the same for C.
//!
//! | module | content |
//! |---|---|
//! | [`gomp`] | constants of GCC's `GOMP_target_ext` interface |
//! | [`map_kind`] | the kinds of an argument mapping |
//! | [`status`] | how a request ended |
//! | [`icv`] | the OpenMP internal control variables a device sees |
//! | [`image`] | the symbols by which host and image find each other |
//! | [`print`](mod@print) | the host function that prints |
//! | [`host_arch`] | substitutes for special registers on the `host` device |
//! | [`wire`] | the protocols: `gcc-slot`, `gcc-ring`, `gcn-queue`, `native` |
//! | [`words`] | how either side touches shared words: scope, order, width |

#![no_std]

pub mod gomp;
pub mod host_arch;
pub mod icv;
pub mod image;
pub mod map_kind;
pub mod print;
pub mod status;
pub mod wire;
pub mod words;

/// Version of every layout in this crate, carried by each image ([`image::ImageInfo::abi_version`])
/// and compared by the host before the first launch. Any change that an older peer would misread
/// increments it.
pub const ABI_VERSION: u32 = 2;
