//! Simulates heat in a ring of cells, each rank of MPI a part of it. Prints the cells.
//!
//!     mpirun -n 4 halo --device emu --cells 1000 --steps 100
//!
//! Each rank launches one kernel (`kernel/`) for all steps. The kernel exchanges the cells at its ends with those of
//! its neighbours. With `--leave`, the rank launches a kernel for each step, and exchanges them itself; `--compare`
//! measures both.

mod compare;
mod part;

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Parser;
use examples::Kernel;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use revoff_host::{Functions, Runtime};
use revoff_mpi::Mpi;

use crate::part::Part;

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
    /// Leave the kernel for every exchange.
    #[arg(long)]
    leave: bool,
    /// Print the times of steps with and without `--leave`, so many times, instead of cells.
    #[arg(long, value_name = "ROUNDS", value_parser = clap::value_parser!(u32).range(1..))]
    compare: Option<u32>,
}

impl Options {
    /// Checks that all ranks have the same; otherwise some would wait for messages that never come.
    fn agree(&self) -> anyhow::Result<()> {
        for (option, value) in [
            ("--cells", self.cells),
            ("--steps", self.steps),
            ("--leave", self.leave.into()),
            ("--compare", self.compare.map_or(0, u64::from)),
        ] {
            if let Some((rank, [first, other])) = examples::first_difference(value) {
                bail!(
                    "{option}: {first} on rank 0, but {other} on rank {rank}; give all ranks the same {option}"
                );
            }
        }
        Ok(())
    }
}

const KERNEL: Kernel = Kernel {
    folder: "halo/kernel",
    host: env!("REVOFF_IMAGE_HALO"),
};

/// The initial heat, all in the first cell.
const HEAT: i64 = 1_000_000_000_000;

#[expect(clippy::print_stderr, reason = "the program reports its error")]
fn main() -> ExitCode {
    let options = Options::try_parse().unwrap_or_else(|error| {
        // MPICH ends the other ranks only after this one has started MPI.
        let _mpi = error.use_stderr().then(Mpi::start);
        error.exit()
    });
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // In one piece: the ranks share the standard error.
            let line = format!("halo: {error:#}\n");
            eprint!("{line}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let mpi = Mpi::start()?;
    if !mpi.is_thread_multiple() {
        bail!("this MPI allows calls by one thread alone");
    }
    options.agree()?;
    let ranks = u64::from(mpi.size());
    let count = options.cells / ranks;
    if count == 0 {
        bail!(
            "--cells {}: must be at least {ranks}, one for each rank",
            options.cells
        );
    }
    if count * ranks != options.cells {
        bail!("--cells {}: no multiple of {ranks} ranks", options.cells);
    }
    let (mut cells, len) = (Vec::new(), usize::try_from(count)?);
    let reserved = cells.try_reserve_exact(len);
    reserved.with_context(|| format!("--cells {}: too many for the memory", options.cells))?;
    cells.resize(len, 0i64);
    let runtime = Runtime::open(&options.device)?;
    let image = KERNEL.image(&runtime, options.image.as_deref())?;
    let mut functions = Functions::new();
    mpi.add_to(&mut functions)?;
    let program = runtime.load(&image, &functions)?;
    if mpi.rank() == 0 {
        cells[0] = HEAT;
    }
    let mut part = Part::new(&runtime, &program, &cells)?;
    let rank = mpi.rank();
    let on_rank = || format!("rank {rank}");
    if let Some(rounds) = options.compare {
        compare::compare(&mpi, &mut part, options.steps, rounds).with_context(on_rank)?;
        mpi.finish()?;
        return Ok(());
    }
    let sum = if options.leave {
        part.leave(options.steps)
    } else {
        part.stay(options.steps)
    };
    let sum = sum.with_context(on_rank)?;
    part.read(&mut cells)?;

    print(&mpi, &mut cells, sum)?;
    mpi.finish()?;
    Ok(())
}

/// Prints the cells of all ranks, on the first: Open MPI mixes lines of several.
fn print(mpi: &Mpi, cells: &mut [i64], sum: i64) -> anyhow::Result<()> {
    const PIECE: usize = 1 << 12;
    let world = SimpleCommunicator::world();
    if mpi.rank() > 0 {
        for piece in cells.chunks(PIECE) {
            world.process_at_rank(0).send(piece);
        }
        return Ok(());
    }
    let mut number = 0u64;
    for rank in 0..world.size() {
        for piece in cells.chunks_mut(PIECE) {
            if rank > 0 {
                world.process_at_rank(rank).receive_into(piece);
            }
            let mut text = String::new();
            for heat in piece {
                text += &format!("cell {number}: {heat} of {sum}\n");
                number += 1;
            }
            stdout().write_all(text.as_bytes())?;
        }
    }
    Ok(())
}
