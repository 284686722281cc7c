//! The command line: what the subcommands share.

use clap::{Parser, Subcommand};
use host_rt::shared_abi::wire::WireKind;

use crate::bench;

/// Reverse offload: kernels that call functions on the host.
#[derive(Debug, Parser)]
#[command(name = "revoff", version, arg_required_else_help = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure what calls to the host cost on this machine
    Bench(bench::Options),
}

/// A wire by its name; an unknown one lists those that there are.
pub(crate) fn wire(name: &str) -> Result<WireKind, String> {
    host_rt::wire_by_name(name).map_err(|error| error.to_string())
}
