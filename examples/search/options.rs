//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

/// Prints the lines of files that contain one of several texts, found by a kernel.
///
/// Prints what `grep -abHF` prints. Exits with 0 if a line was found, with 1 if none was, and with
/// 2 after an error.
#[derive(Debug, Parser)]
#[command(name = "search", version)]
pub(crate) struct Options {
    /// A text to look for; may be given several times
    #[arg(
        short = 'e',
        required = true,
        value_name = "PATTERN",
        allow_hyphen_values = true
    )]
    pub(crate) patterns: Vec<OsString>,

    /// The files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Print nothing, and let each device thread stop at its first match
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Print the numbers of searched lines, calls and copies on the standard error
    #[arg(long)]
    pub(crate) stats: bool,

    /// The device that runs the kernel
    #[arg(long, default_value = "host")]
    pub(crate) device: String,

    /// The kernel's image, instead of one that is built for the device
    #[arg(long)]
    pub(crate) image: Option<PathBuf>,

    /// Teams of device threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) teams: u32,

    /// Device threads of a team
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: u32,
}

/// Prints a message on the standard error.
#[expect(clippy::print_stderr, reason = "a command's messages go there")]
pub(crate) fn say(message: &str) {
    eprintln!("search: {message}");
}
