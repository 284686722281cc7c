//! `revoff bench`: what calls to the host cost, beside what they cannot cost less
//! than.

mod calls;
mod floor;
mod latency;
mod machine;
mod report;
mod session;
mod table;
mod tasks;
mod waiting;

use std::time::Duration;

use bench_calls::MEASURE;
use clap::Args;
use host_rt::shared_abi::wire::WireKind;
use host_rt::{Runtime, Waiting, env};

use self::calls::Case;
use self::floor::FloorCase;
use self::report::{Rate, Report};
use self::session::{Session, Setup};
use crate::output;

/// How a runtime waits unless it is told otherwise.
const ADAPTIVE: Waiting = Waiting::Adaptive;

/// How the parallel patch for GCC waits after each look at its ring.
const PATCHED: Waiting = Waiting::Sleep(Duration::from_micros(1));

/// Seconds that each figure is measured with `--quick`.
const QUICK: f64 = 0.05;

#[derive(Debug, Args)]
#[command(after_help = "\
The floor is what two threads need to hand a word over and back, with nothing
between them: no call can be faster. `sleep-1us` is how the parallel patch for
GCC waits: it sleeps a microsecond between two looks.

Examples:
  revoff bench --wires native --threads 1
  revoff bench --json > figures.json

What else the machine does while this runs is in the figures.")]
pub(crate) struct Options {
    /// Print one JSON object instead of a table (docs/bench-json.md)
    #[arg(long)]
    json: bool,

    /// Seconds that each figure is measured, in each round
    #[arg(long, default_value = "0.2", value_parser = seconds)]
    seconds: f64,

    /// Rounds in which everything is measured; rates are the median of all
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// One short round that only shows that everything works
    #[arg(long, conflicts_with_all = ["seconds", "rounds"])]
    quick: bool,

    /// The wires to measure
    #[arg(
        long,
        value_name = "WIRE,..",
        value_delimiter = ',',
        default_value = "native,gcc-ring,gcc-slot",
        value_parser = crate::options::wire
    )]
    wires: Vec<WireKind>,

    /// Numbers of device threads to measure with
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "1,2,4,8",
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    threads: Vec<u32>,

    /// The device that runs the kernels
    #[arg(long, default_value = "host")]
    device: String,

    /// Leave it to the system where threads run
    ///
    /// Otherwise the two threads of the floor have a core each, and so have the
    /// device thread and the serving threads where there is one device thread.
    #[arg(long)]
    no_pin: bool,
}

impl Options {
    fn time(&self) -> Duration {
        Duration::from_secs_f64(if self.quick { QUICK } else { self.seconds })
    }

    fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.rounds }
    }

    /// Where two threads are to run, if they are to be told.
    fn cores(&self) -> Option<[usize; 2]> {
        if self.no_pin {
            None
        } else {
            tasks::two_cores()
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|seconds| (0.01..=60.0).contains(seconds))
        .ok_or_else(|| "a number from 0.01 to 60 is expected".to_owned())
}

/// Measures everything and prints it.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let report = measure(options)?;
    if options.json {
        output::json(&report)
    } else {
        output::print(&table::render(&report)?)
    }
}

fn measure(options: &Options) -> anyhow::Result<Report> {
    let others = machine::Others::watch();
    // First of all: there is such a device, and the environment makes sense.
    let runtime = Runtime::open(&options.device)?;
    let device = report::Device {
        name: options.device.clone(),
        description: runtime.description(),
    };
    drop(runtime);

    let adaptive = |&wire: &WireKind| Setup {
        wire,
        waiting: ADAPTIVE,
    };
    let mut setups: Vec<Setup> = options.wires.iter().map(adaptive).collect();
    if options.wires.contains(&WireKind::GCC_RING) {
        setups.push(Setup {
            wire: WireKind::GCC_RING,
            waiting: PATCHED,
        });
    }
    let mut cases = Vec::new();
    for &setup in &setups {
        for &threads in &options.threads {
            cases.push(Case::new(options, setup, calls::EMPTY_CALL, threads)?);
        }
        cases.push(Case::new(options, setup, calls::TYPED_CALL, 1)?);
        cases.push(Case::new(options, setup, calls::TOFROM_CALL, 1)?);
    }
    // Everything once, then everything again: what else the machine does in the
    // meantime strikes all alike.
    let mut floor = FloorCase::new(options.cores())?;
    for _ in 0..options.rounds() {
        floor.round(options.time())?;
        cases.iter_mut().try_for_each(|case| case.round(options))?;
    }
    let floor = floor.figures();
    let calls: Vec<_> = cases.iter().map(|case| case.figures(&floor)).collect();
    let mut waiting = Vec::new();
    for &setup in &setups {
        waiting.push(waiting::measure(options, setup)?);
    }
    Ok(Report {
        schema: report::SCHEMA,
        revoff: env!("CARGO_PKG_VERSION"),
        date: machine::now(),
        machine: machine::machine(&others),
        device,
        environment: env::VARIABLES
            .iter()
            .filter_map(|&(name, _)| Some((name, std::env::var(name).ok()?)))
            .collect(),
        rounds: options.rounds(),
        seconds: options.time().as_secs_f64(),
        measuring_ns: measuring(options)?,
        native_to_patched: calls::native_to_patched(&calls),
        floor,
        calls,
        waiting,
    })
}

/// What of each time is the measuring itself: the median of timing nothing.
fn measuring(options: &Options) -> anyhow::Result<u64> {
    let setup = Setup {
        wire: WireKind::NATIVE,
        waiting: Waiting::Adaptive,
    };
    let mut session = Session::open(&options.device, setup, 1, options.cores())?;
    Ok(session.time(MEASURE, options.time())?.percentile(50.0))
}

/// The rates of several rounds.
fn rates(rates: &[f64]) -> Rate {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
    Rate {
        median: at(sorted.len() / 2),
        min: at(0),
        max: at(sorted.len().saturating_sub(1)),
    }
}

/// What a way of waiting is called.
fn waiting_name(waiting: Waiting) -> &'static str {
    if waiting == PATCHED {
        "sleep-1us"
    } else {
        "adaptive"
    }
}
