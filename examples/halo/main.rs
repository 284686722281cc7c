//! Simulates heat in a ring of cells, each rank of MPI a part of it. Prints the cells.
//!
//!     mpirun -n 4 halo --device emu --cells 1000 --steps 100
//!
//! Each rank launches one kernel (`kernel/`) for all steps. The kernel exchanges the cells at its ends with those of
//! its neighbours.

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use examples::Kernel;
use host_rt::{Functions, Grid, Runtime};
use revoff_mpi::Mpi;

/// Lets heat flow along a ring, on several ranks.
#[derive(Parser)]
struct Options {
    /// The device of each rank.
    #[arg(long, default_value = "host")]
    device: String,
    /// The kernel's image, instead of one that is built for the device.
    #[arg(long)]
    image: Option<PathBuf>,
    /// Cells of all ranks together; each has as many.
    #[arg(long, default_value_t = 1000)]
    cells: u64,
    /// Steps.
    #[arg(long, default_value_t = 100)]
    steps: u64,
}

const KERNEL: Kernel = Kernel {
    folder: "halo/kernel",
    host: env!("REVOFF_IMAGE_HALO"),
};

/// The initial heat, all in the first cell.
const HEAT: i64 = 1_000_000_000_000;

#[expect(clippy::print_stderr, reason = "the program reports its error")]
fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("halo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let mpi = Mpi::start()?;
    let ranks = u64::from(mpi.size());
    let count = options.cells / ranks;
    if count == 0 || count * ranks != options.cells {
        bail!("--cells {}: no multiple of {ranks} ranks", options.cells);
    }
    let runtime = Runtime::open(&options.device)?;
    let image = KERNEL.image(&runtime, options.image.as_deref())?;
    let mut functions = Functions::new();
    mpi.add_to(&mut functions)?;
    let kernel = runtime.load(&image, &functions)?.kernel("halo")?;

    let mut cells = vec![0i64; usize::try_from(count)?];
    if mpi.rank() == 0 {
        cells[0] = HEAT;
    }
    let (mine, other, total) = (
        runtime.alloc(8 * count)?,
        runtime.alloc(8 * count)?,
        runtime.alloc(8)?,
    );
    mine.write(0, &cells)?;
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    // SAFETY: the kernel takes these, and the buffers have these many cells and live until `wait` returns.
    let launch = unsafe { kernel.launch(grid, &[&mine, &other, &count, &options.steps, &total])? };
    let rank = mpi.rank();
    launch.wait().with_context(|| format!("rank {rank}"))?;

    mine.read(0, &mut cells)?;
    let mut sum = [0i64];
    total.read(0, &mut sum)?;
    let first = u64::from(rank) * count;
    let mut text = String::new();
    for (number, heat) in (first..).zip(&cells) {
        text += &format!("cell {number}: {heat} of {}\n", sum[0]);
    }
    // At once: the lines of ranks do not mix.
    stdout().write_all(text.as_bytes())?;
    mpi.finish()?;
    Ok(())
}
