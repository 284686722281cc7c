//! `revoff build`: builds the program of a crate, without running it.

use clap::Args;
use revoff_build::program;

use crate::output;
use crate::run::program::Source;

#[derive(Debug, Args)]
#[command(after_help = "\
Prints the path of the image. `revoff run --program IMAGE` runs it, also on a machine
without Rust.

  revoff build --arch sm_90
  revoff build --arch gfx90a --bin hello")]
pub(crate) struct Options {
    #[command(flatten)]
    source: Source,

    /// The program, if the crate has several
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,
}

/// Builds a program; without an architecture for the device `host`.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let (toolchain, target, source) = options.source.for_arch(None)?;
    let program = program::build(&toolchain, target, &source, options.bin.as_deref())?;
    output::print(&format!("{}\n", program.image.display()))
}
