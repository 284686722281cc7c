//! The command line: its subcommands.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{bench, build, devices, emulate, inspect, new, pieces, run, soak, test, top};

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
  revoff new hello                an ordinary crate
  revoff run                      its main, on the `host` device: threads of this machine
  revoff run --device emu         the same on an emulated GPU
  revoff test --device emu        its tests
  revoff devices                  what can run kernels here
  revoff emulate -- ./program     any program for NVIDIA's or AMD's GPUs, without one
  revoff inspect libhello.so      which kernels an image has, what it calls
  revoff run libhello.so --kernel hello u32:7
  revoff bench --quick            what a call to the host costs here
  revoff top heat.socket          what a program does, started with REVOFF_METRICS=heat.socket

Exit status:
  0  done
  1  the kernel, or a call that it made, failed
  2  the command line, the environment or a file is invalid

`revoff devices` lists the environment variables. REVOFF_LOG=debug shows the
runtime's events.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the devices, and the cost of reverse offload on each
    Devices(devices::Options),
    /// Run any program that uses CUDA's driver or AMD's ROCr, on emulated GPUs
    Emulate(emulate::Options),
    /// Show the metadata of an image, without loading it
    Inspect(inspect::Options),
    /// Build the program of a crate for a device
    Build(build::Options),
    /// Create a program that runs on devices and on this machine
    New(new::Options),
    /// Print the folder with what other compilers link into images
    Pieces(pieces::Options),
    /// Run the program of a crate on a device, or a kernel of an image
    Run(run::Options),
    /// Run the tests of a crate on a device
    Test(test::Options),
    /// Measure the cost of calls to the host on this machine
    Bench(bench::Options),
    /// Check calls for a long time: that none is lost, served twice or answered wrongly
    Soak(soak::Options),
    /// Watch a running program: its calls, launches, copies and serving threads
    Top(top::Options),
    /// Print a shell completion script
    #[command(
        after_help = "Example:\n  revoff completions bash > ~/.local/share/bash-completion/completions/revoff"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, for packages
    #[command(hide = true)]
    Man {
        /// The folder for them
        folder: PathBuf,
    },
}
