//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// Prints the SHA-256 digests of files, computed by a kernel that reads them
/// through its host.
///
/// Prints what `sha256sum` prints for the same files, ordered by path; folders are walked. A
/// summary goes to the standard error. Exits with 1 if a file could not be read, with 2 after an
/// invalid command line or a failed launch.
#[derive(Debug, Parser)]
#[command(name = "digest", version)]
pub(crate) struct Options {
    /// Files, and folders with files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

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

    /// Bytes that a device thread requests at a time, e.g. 64K or 1M
    #[arg(long, default_value = "256K", value_parser = chunk)]
    pub(crate) chunk: u64,

    /// Share the files among the ranks of MPI; the first one prints all digests, and each its own summary
    #[cfg(feature = "mpi")]
    #[arg(long)]
    pub(crate) mpi: bool,

    /// Print one JSON object instead
    #[arg(long)]
    pub(crate) json: bool,
}

fn chunk(text: &str) -> Result<u64, String> {
    revoff_host::env::parse_bytes(text)
        .filter(|bytes| (1..=1 << 30).contains(bytes))
        .ok_or_else(|| {
            "a size from 1 to 1G is expected: a whole number, perhaps with K, M or G behind it"
                .to_owned()
        })
}

/// Prints an error on the standard error, in the style of coreutils.
pub(crate) fn complain(message: &str) {
    say(&format!("digest: {message}"));
}

/// Prints a line on the standard error, in one piece: the ranks of MPI share it.
#[expect(clippy::print_stderr, reason = "a command's messages go there")]
pub(crate) fn say(message: &str) {
    let line = format!("{message}\n");
    eprint!("{line}");
}
