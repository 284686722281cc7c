//! Simulates heat in a ring of cells. Each step of a block of cells is a task. Prints the total
//! heat and the maximum at intervals.
//!
//! The program never waits for a step: a block's task declares that it needs three blocks of the
//! step before. Output is printed by host tasks, which need all blocks of one step; the device
//! continues meanwhile, as far as it does not overwrite these.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::Parser;
use examples::Kernel;
use revoff_host::{DeviceBuffer, Functions, Grid, Runtime, RuntimeError, task};

/// Lets heat flow along a ring.
#[derive(Parser)]
struct Options {
    /// The device.
    #[arg(long, default_value = "host")]
    device: String,
    /// The kernel's image, instead of one that is built for the device.
    #[arg(long)]
    image: Option<PathBuf>,
    /// Blocks of cells.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    blocks: u16,
    /// Cells of a block.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    cells: u32,
    /// Steps.
    #[arg(long, default_value_t = 100)]
    steps: u32,
    /// Steps between two lines of output.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
}

const KERNEL: Kernel = Kernel {
    folder: "heat/kernel",
    host: env!("REVOFF_IMAGE_HEAT"),
};

/// The initial heat, all in one cell.
const HEAT: i64 = 1_000_000_000_000;

#[expect(clippy::print_stderr, reason = "the program reports its error")]
fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("heat: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn run(options: &Options) -> anyhow::Result<()> {
    let runtime = Runtime::open(&options.device)?;
    let image = KERNEL.image(&runtime, options.image.as_deref())?;
    let program = runtime.load(&image, &Functions::new())?;
    let flow = program.kernel("flow")?;
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    let (blocks, cells) = (usize::from(options.blocks), options.cells);
    let alloc = || -> Result<Vec<DeviceBuffer>, RuntimeError> {
        let block = |_| runtime.alloc(8 * u64::from(cells));
        (0..blocks).map(block).collect()
    };
    // A step reads one of them and writes the other.
    let states = [alloc()?, alloc()?];
    states[0][0].write(0, &[HEAT])?;

    let lines = Mutex::new(Vec::new());
    task::scope(|tasks| {
        for step in 0..options.steps {
            let from = &states[step as usize % 2];
            let to = &states[(step as usize + 1) % 2];
            for at in 0..blocks {
                let before = &from[(at + blocks - 1) % blocks];
                let after = &from[(at + 1) % blocks];
                let args = (&to[at], before, &from[at], after, u64::from(cells));
                // SAFETY: the kernel takes these; blocks have this many cells. It writes the first
                // and reads the others, as the task declares.
                let task = unsafe { tasks.target(&flow, grid, args) };
                let task = task.reads(before).reads(&from[at]).reads(after);
                task.writes(&to[at]).spawn()?;
            }
            let step = step + 1;
            if step % options.every == 0 || step == options.steps {
                let lines = &lines;
                let report = tasks.try_host(move || {
                    let line = summary(to, cells)?;
                    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                    lines.push((step, line));
                    Ok::<(), revoff_host::Error>(())
                });
                let report = report.named(format!("line of step {step}"));
                to.iter()
                    .fold(report, |task, block| task.reads(block))
                    .spawn()?;
            }
        }
        Ok(())
    })?;
    let mut lines = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
    lines.sort_unstable();
    for (step, (total, hottest, at)) in lines {
        println!("step {step}: {total} in all, {hottest} in cell {at}");
    }
    Ok(())
}

/// The total heat, its maximum, and the position of the maximum.
fn summary(state: &[DeviceBuffer], cells: u32) -> revoff_host::Result<(i64, i64, usize)> {
    let (mut total, mut hottest) = (0, (i64::MIN, 0));
    let mut block = vec![0i64; cells as usize];
    for (number, buffer) in state.iter().enumerate() {
        buffer.read(0, &mut block)?;
        for (at, &heat) in block.iter().enumerate() {
            total += heat;
            if heat > hottest.0 {
                hottest = (heat, number * cells as usize + at);
            }
        }
    }
    Ok((total, hottest.0, hottest.1))
}
