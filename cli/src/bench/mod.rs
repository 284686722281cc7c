//! `revoff bench`: what calls to the host cost, beside what they cannot cost less
//! than.

mod floor;
mod latency;
mod machine;
mod report;
mod session;
mod table;
mod tasks;
mod waiting;

use std::time::Duration;

use bench_calls::{EMPTY, MEASURE, TOFROM};
use clap::Args;
use host_rt::shared_abi::wire::WireKind;
use host_rt::{Runtime, Waiting, env};

use self::report::{Calls, Floor, Ratio, Report};
use self::session::{Session, Setup};
use crate::output;

/// How the parallel patch for GCC waits after each look at its ring.
const PATCHED: Waiting = Waiting::Sleep(Duration::from_micros(1));

/// Seconds that each figure is measured with `--quick`.
const QUICK: f64 = 0.05;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print one JSON object instead of a table (docs/bench-json.md)
    #[arg(long)]
    json: bool,

    /// Seconds that each figure is measured
    #[arg(long, default_value = "0.5", value_parser = seconds)]
    seconds: f64,

    /// A short run that only shows that everything works
    #[arg(long, conflicts_with = "seconds")]
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
    // First of all: there is such a device, and the environment makes sense.
    let runtime = Runtime::open(&options.device)?;
    let device = report::Device {
        name: options.device.clone(),
        description: runtime.description(),
    };
    drop(runtime);

    let floor = floor::measure(options.cores(), options.time())?;
    let adaptive = |&wire: &WireKind| Setup {
        wire,
        waiting: Waiting::Adaptive,
    };
    let mut setups: Vec<Setup> = options.wires.iter().map(adaptive).collect();
    if options.wires.contains(&WireKind::GCC_RING) {
        setups.push(Setup {
            wire: WireKind::GCC_RING,
            waiting: PATCHED,
        });
    }
    let mut calls = Vec::new();
    for &setup in &setups {
        for &threads in &options.threads {
            calls.push(measure_calls(options, &floor, setup, "empty", threads)?);
        }
        calls.push(measure_calls(options, &floor, setup, "tofrom-64", 1)?);
    }
    let mut waiting = Vec::new();
    for &setup in &setups {
        waiting.push(waiting::measure(options, setup)?);
    }
    Ok(Report {
        schema: report::SCHEMA,
        revoff: env!("CARGO_PKG_VERSION"),
        date: machine::now(),
        machine: machine::machine(),
        device,
        environment: env::VARIABLES
            .iter()
            .filter_map(|&(name, _)| Some((name, std::env::var(name).ok()?)))
            .collect(),
        seconds: options.time().as_secs_f64(),
        measuring_ns: measuring(options)?,
        native_to_patched: native_to_patched(&calls, &options.threads),
        floor,
        calls,
        waiting,
    })
}

/// Measures one kind of call over one wire.
fn measure_calls(
    options: &Options,
    floor: &Floor,
    setup: Setup,
    call: &'static str,
    threads: u32,
) -> anyhow::Result<Calls> {
    let what = if call == "empty" { EMPTY } else { TOFROM };
    // More threads share the cores as the system sees fit.
    let cores = options.cores().filter(|_| threads == 1);
    let mut session = Session::open(&options.device, setup, threads, cores)?;
    let (requests, seconds) = session.count(what, options.time())?;
    let latency = session.time(what, options.time())?;
    let rate = requests as f64 / seconds;
    let p50_ns = latency.percentile(50.0);
    Ok(Calls {
        wire: setup.wire.name().unwrap_or_default(),
        waiting: waiting_name(setup.waiting),
        call,
        threads,
        requests,
        requests_per_second: rate,
        p50_ns,
        p99_ns: latency.percentile(99.0),
        rate_to_floor: rate / floor.round_trips_per_second,
        p50_to_floor: p50_ns as f64 / floor.p50_ns as f64,
        cores: cores.filter(|_| session.pinned()),
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

fn native_to_patched(calls: &[Calls], threads: &[u32]) -> Vec<Ratio> {
    let rate = |threads: u32, wire: &str, waiting: &str| {
        calls
            .iter()
            .find(|c| {
                c.threads == threads && c.wire == wire && c.waiting == waiting && c.call == "empty"
            })
            .map(|c| c.requests_per_second)
    };
    threads
        .iter()
        .filter_map(|&threads| {
            let native = rate(threads, "native", waiting_name(Waiting::Adaptive))?;
            let patched = rate(threads, "gcc-ring", waiting_name(PATCHED))?;
            Some(Ratio {
                threads,
                requests_per_second: native / patched,
            })
        })
        .collect()
}

/// What a way of waiting is called.
fn waiting_name(waiting: Waiting) -> &'static str {
    if waiting == PATCHED {
        "sleep-1us"
    } else {
        "adaptive"
    }
}
