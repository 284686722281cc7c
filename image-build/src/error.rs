//! Errors of a build for a GPU. A message contains that of its cause, which is therefore no
//! [`source`](std::error::Error::source): programs that print all sources would print it twice.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use targets::arch::UnknownArch;

/// A build for a GPU failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No compiler for GPUs was found.
    #[error(
        "no Rust toolchain here can build for GPUs:\n{}\ninstall one: \
         `rustup toolchain install 1.96.0 -c rust-src`, or Debian's `rustc-web rust-web-src` \
         (as root: apt-get install), or set {RUSTC} to the rustc of one",
        tried.join("\n")
    )]
    NoToolchain {
        /// Each candidate, with the reason why it is unsuitable.
        tried: Vec<String>,
    },
    /// The sources from which `std` for devices is built are missing.
    #[error(
        "{}: the sources of this project are not there: clone its repository and `cargo install --path cli` there, or \
         install the package that `cargo xtask dist` makes, which contains them",
        .0.display()
    )]
    NoSources(PathBuf),
    /// The platform layer does not fit the toolchain's standard library.
    #[error(
        "the platform layer for std on a device fits the standard library of Rust {supported}, not that of \
         {release}; install one of these: `rustup toolchain install 1.96.0 -c rust-src`, or set {RUSTC} to the \
         rustc of one"
    )]
    UnsupportedStd {
        /// The toolchain's release.
        release: String,
        /// The releases that it fits.
        supported: String,
    },
    /// A file of the standard library is not what its release should have.
    #[error(
        "{}: this is not the source of Rust {release}, which the platform layer for std on a device changes here; \
         install the toolchain's rust-src again",
        path.display()
    )]
    UnknownStd {
        /// The toolchain's release.
        release: String,
        /// The copy of the file.
        path: PathBuf,
    },
    /// The standard library, or the crate that is linked with every program, does not build.
    #[error("std does not build for {arch}: {reason}")]
    Std {
        /// The architecture.
        arch: String,
        /// The messages of the compiler.
        reason: String,
    },
    /// A folder without a program.
    #[error("no program at {}: {reason} (--manifest-path names the crate)", path.display())]
    NoProgram {
        /// The folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A folder without a crate.
    #[error("no kernel crate at {}: {reason}", path.display())]
    NoCrate {
        /// The folder.
        path: PathBuf,
        /// The reason.
        reason: NoCrate,
    },
    /// The crate does not compile.
    #[error(
        "the crate `{krate}` does not build for {arch} ({status}){}",
        hint(help)
    )]
    Compile {
        /// The crate.
        krate: String,
        /// The architecture.
        arch: String,
        /// Cargo's exit status.
        status: ExitStatus,
        /// An explanation of the messages, if there is one.
        help: Option<&'static str>,
    },
    /// An image that a device would load refers to an undefined symbol.
    #[error(
        "{}: nothing defines `{symbol}`; `revoff_device::image!()` in the root of the kernel \
         crate defines what host calls take, the rest is the crate's own",
        path.display()
    )]
    Undefined {
        /// The image.
        path: PathBuf,
        /// The undefined symbol.
        symbol: String,
    },
    /// A tool that a step needs is missing.
    #[error("no {tool} for {arch}; {help}")]
    NoTool {
        /// The tool.
        tool: &'static str,
        /// The architecture.
        arch: String,
        /// The source to install it from.
        help: String,
    },
    /// A tool failed.
    #[error("{} failed on {}: {said}", tool.display(), input.display())]
    Tool {
        /// The tool.
        tool: PathBuf,
        /// Its input.
        input: PathBuf,
        /// Its output.
        said: String,
    },
    /// A compiler or tool wrote a file in an unknown format.
    #[error("{}: {reason}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: Cause,
    },
    /// Requests of a build contradict each other, or one is invalid.
    #[error("{0}")]
    Request(String),
    /// An architecture for which images are not built.
    #[error(transparent)]
    UnknownArch(#[from] UnknownArch),
    /// A file could not be read or written.
    #[error("{}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: io::Error,
    },
}

/// The reason for an error, from one of the libraries that read files, or from the standard library.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Same as [`Display`](std::fmt::Display), which includes the remedy, because `fn main() -> Result`
/// prints this.
impl std::fmt::Debug for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// The reason why a folder has no kernel crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoCrate {
    /// The folder has no manifest.
    #[error("{}: {reason}", manifest.display())]
    Manifest {
        /// The path of the manifest.
        manifest: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// Cargo does not run.
    #[error("cannot run cargo: {0}")]
    Cargo(io::Error),
    /// Cargo rejects the manifest, with this message.
    #[error("{0}")]
    Refused(String),
    /// Cargo's description of the crate is not JSON.
    #[error("cargo metadata: {0}")]
    Metadata(serde_json::Error),
    /// The manifest is that of a workspace.
    #[error("there is no package in it, only a workspace")]
    OnlyWorkspace,
    /// The crate is not a library.
    #[error("it has no library, and a kernel crate is one")]
    NoLibrary,
    /// The manifest's `small` of `[package.metadata.revoff]` has this value.
    #[error("small = {0} in [package.metadata.revoff]: true or false expected")]
    Small(String),
    /// The crate has no code for devices.
    #[error(
        "nothing in it is for a device: a kernel crate has functions marked \
         `#[revoff_device::kernel]`, and calls `revoff_device::image!()` in its root"
    )]
    NoKernels,
}

/// The reason why a Rust toolchain cannot build for GPUs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsuitable {
    #[error("cannot run it: {0}")]
    Run(io::Error),
    #[error("`{args}` fails: {status}")]
    Fails { args: String, status: ExitStatus },
    #[error("`-vV` prints no {0}")]
    NoField(String),
    #[error("it is {release}, and {}.{} is the oldest that will do", minimum.0, minimum.1)]
    TooOld {
        release: String,
        minimum: (u32, u32),
    },
    #[error(
        "it has no source of the library, {} is not there (rustup component add rust-src)",
        .0.display()
    )]
    NoSource(PathBuf),
    #[error("it is {release}, which knows no {}", missing.join(", "))]
    NoArch {
        release: String,
        missing: Vec<&'static str>,
    },
    #[error("its LLVM has no version: `{0}`")]
    NoLlvmVersion(String),
}

/// The environment variable that names the compiler for GPUs.
pub const RUSTC: &str = "REVOFF_DEVICE_RUSTC";

fn hint(help: &Option<&'static str>) -> String {
    help.map(|help| format!("\nhint: {help}"))
        .unwrap_or_default()
}

/// For `map_err`: the error about `path`.
pub(crate) fn io_at(path: &Path) -> impl FnOnce(io::Error) -> BuildError + '_ {
    move |reason| BuildError::Io {
        path: path.to_owned(),
        reason,
    }
}
