//! The cost of an isolated process, compared with a plain process that does the same: each round starts one of either
//! kind. It opens a runtime, loads an image, and launches a kernel that calls the host.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use bench_calls::Exchange;
use clap::Parser;
use revoff_host::{Functions, Grid, Image, Runtime};
use revoff_isolate::{Isolated, Job, JobError, Sandbox};

const IMAGE: &str = env!("REVOFF_IMAGE_BENCH_ISOLATED");

const LAUNCH: Job = Job::new("launch", launch_isolated);

/// Measures isolated processes beside plain ones.
#[derive(Parser)]
struct Arguments {
    /// Number of calls that each process makes.
    #[arg(long, default_value_t = 200_000)]
    calls: u64,
    /// Number of processes of either kind.
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Does what is measured in this process.
    #[arg(long, hide = true)]
    plain: bool,
}

/// The times of a process, in seconds.
#[derive(Clone, Copy)]
struct Times {
    /// From its start to its end, without the kernel.
    process: f64,
    kernel: f64,
}

/// A figure of a process.
type Figure<'a> = dyn Fn(&Times) -> f64 + 'a;

fn main() -> anyhow::Result<()> {
    revoff_isolate::init(&[LAUNCH]);
    let arguments = Arguments::parse();
    let calls = arguments.calls;
    let mut out = std::io::stdout().lock();
    if arguments.plain {
        return Ok(out.write_all(&launch(calls)?.to_ne_bytes())?);
    }
    let sandbox = Sandbox::new().image(IMAGE);
    let isolated = || Ok(LAUNCH.run(&sandbox, &calls.to_ne_bytes())?);
    let (mut plain_times, mut isolated_times) = (Vec::new(), Vec::new());
    // The first round warms up.
    for round in 0..=arguments.rounds {
        // The order alternates, since the second process finds caches warm.
        let pair = if round % 2 == 0 {
            let first = timed(|| plain(calls))?;
            (first, timed(isolated)?)
        } else {
            let first = timed(isolated)?;
            (timed(|| plain(calls))?, first)
        };
        if round > 0 {
            plain_times.push(pair.0);
            isolated_times.push(pair.1);
        }
    }
    writeln!(
        out,
        "medians of {} rounds, and of the rounds' ratios, isolated to plain\n\n{:<26}{:>10}{:>10}{:>8}{:>16}",
        arguments.rounds, "", "plain", "isolated", "ratio", "quartiles"
    )?;
    let process = |times: &Times| times.process * 1e3;
    let rate = |times: &Times| calls as f64 / times.kernel / 1e3;
    let rows: [(&str, &Figure<'_>); 2] = [
        ("start and end, ms", &process),
        ("thousand calls per second", &rate),
    ];
    for (name, figure) in rows {
        let [plain, isolated] =
            [&plain_times, &isolated_times].map(|times| times.iter().map(figure));
        let ratios = sorted(
            plain
                .clone()
                .zip(isolated.clone())
                .map(|(plain, isolated)| isolated / plain),
        );
        let quartile = |values: &[f64], quarters: usize| values[quarters * (values.len() - 1) / 4];
        let quartiles = format!("{:.2} to {:.2}", quartile(&ratios, 1), quartile(&ratios, 3));
        writeln!(
            out,
            "{name:<26}{:>10.1}{:>10.1}{:>8.2}{quartiles:>16}",
            quartile(&sorted(plain), 2),
            quartile(&sorted(isolated), 2),
            quartile(&ratios, 2),
        )?;
    }
    Ok(())
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Times a process, which returns the seconds of its kernel.
fn timed(process: impl Fn() -> anyhow::Result<Vec<u8>>) -> anyhow::Result<Times> {
    let start = Instant::now();
    let bytes = process()?;
    let all = start.elapsed().as_secs_f64();
    let bytes = bytes
        .try_into()
        .ok()
        .context("the process sends a number")?;
    let kernel = f64::from_ne_bytes(bytes);
    Ok(Times {
        process: all - kernel,
        kernel,
    })
}

fn plain(calls: u64) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--plain", "--calls", &calls.to_string()]);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(
        output.status.success(),
        "the plain process: {}",
        output.status
    );
    Ok(output.stdout)
}

fn launch_isolated(isolated: Isolated) -> Result<Vec<u8>, JobError> {
    let calls = u64::from_ne_bytes(isolated.input.as_slice().try_into()?);
    Ok(launch(calls)?.to_ne_bytes().to_vec())
}

/// Launches a kernel of one thread that makes so many calls. Returns its time in seconds.
fn launch(calls: u64) -> anyhow::Result<f64> {
    let runtime = Runtime::builder("host").build()?;
    let mut functions = Functions::new();
    functions.add(Exchange::bind(|_, number, _: &mut [u64]| number))?;
    let program = runtime.load(&Image::open(IMAGE)?, &functions)?;
    let ended = runtime.alloc_from(&[[0u64; 2]])?;
    let kernel = program.kernel("soak")?;
    let grid = Grid {
        teams: 1,
        threads: 1,
    };
    // SAFETY: the parameters are the kernel's: `ended` has a pair for its thread, and lives until the launch has ended.
    let report = unsafe { kernel.launch(grid, &[&0u64, &calls, &ended])? }.wait()?;
    let mut pairs = [[0u64; 2]];
    ended.read(0, &mut pairs)?;
    ensure!(
        pairs[0][0] == calls,
        "the kernel made {} of {calls} calls",
        pairs[0][0]
    );
    Ok(report.time.as_secs_f64())
}
