//! `revoff pieces`: what other compilers link into their images.

use clap::Args;
use revoff_build::pieces::pieces;
use targets::arch;

use crate::output;

#[derive(Debug, Args)]
#[command(after_help = "\
Prints the folder: `include` has the headers for C, `host` a static library for images for
the `host` device, and a folder for each GPU bitcode and, for NVIDIA, PTX. docs/linking.md
has the compilers' command lines.

  revoff pieces --arch sm_70,gfx90a")]
pub(crate) struct Options {
    /// The GPUs, besides the `host` device
    #[arg(long, value_name = "ARCH", value_delimiter = ',')]
    arch: Vec<String>,
}

/// Builds the pieces that are missing.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let arches = options.arch.iter().map(|name| arch::find(name));
    let folder = pieces(&arches.collect::<Result<Vec<_>, _>>()?)?;
    output::print(&format!("{}\n", folder.display()))
}
