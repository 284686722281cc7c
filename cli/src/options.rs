//! The command line: its subcommands.

use clap::{Parser, Subcommand};

use crate::{bench, devices, inspect, run};

/// Reverse offload: kernels that call functions on the host.
///
/// Answers go to the standard output, everything else to the standard error.
#[derive(Debug, Parser)]
#[command(name = "revoff", version, arg_required_else_help = true, after_help = AFTER_HELP)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  revoff devices                  what can run kernels here
  revoff inspect libhello.so      which kernels an image has, what it calls
  revoff run libhello.so --kernel hello u32:7
  revoff bench --quick            what a call to the host costs here

Exit status:
  0  done
  1  the kernel, or a call that it made, failed
  2  the command line, the environment or a file is invalid

`revoff devices` lists the environment variables that configure the runtime.
REVOFF_LOG shows its events, e.g. REVOFF_LOG=debug.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the devices, and the cost of reverse offload on each
    Devices(devices::Options),
    /// Show the metadata of an image, without loading it
    Inspect(inspect::Options),
    /// Run a kernel of an image
    Run(run::Options),
    /// Measure the cost of calls to the host on this machine
    Bench(bench::Options),
    /// Print a shell completion script
    #[command(
        after_help = "Example:\n  revoff completions bash > ~/.local/share/bash-completion/completions/revoff"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}
