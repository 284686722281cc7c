//! `revoff bench`: the cost of calls to the host, and a lower bound of it.

mod calls;
mod caveats;
mod context;
mod costs;
mod counting;
mod floor;
mod groups;
mod host_functions;
mod kinds;
mod latency;
mod linked;
mod machine;
mod options;
mod os_threads;
mod peers;
mod plan;
mod plot;
mod ratios;
mod report;
mod sample_size;
mod session;
mod shape;
mod table;
mod waiting;
mod watchdog;

use std::io::IsTerminal;
use std::time::Instant;

use bench_calls::MEASURE;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::targets::count::Count;
use revoff_host::{Runtime, env};

use self::calls::Case;
use self::context::Bench;
pub(crate) use self::context::kernels;
use self::floor::FloorCase;
pub(crate) use self::options::{Options, wires};
use self::plan::{Item, Wanted};
use self::report::Report;
use self::session::{ADAPTIVE, Session, Setup, Use};
use self::shape::Shape;
use crate::output;

/// Measures everything and prints it.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(dir) = &options.plot {
        plot::prepare(dir)?;
    }
    if options.costs {
        return costs::run(options);
    }
    let mut failure = None;
    let report = match &options.from {
        Some(file) => Report::read(file)?,
        None => measure(options, &mut failure)?,
    };
    if options.json {
        output::json(&report)?;
    } else {
        output::print(&table::render(&report)?)?;
    }
    // After printing, so that the figures are not lost if drawing fails.
    if let Some(dir) = &options.plot {
        plot::draw(&report, dir)?;
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Measures everything. Figures that could not be measured are listed in the report; `failure` is the
/// first error.
fn measure(options: &Options, failure: &mut Option<anyhow::Error>) -> anyhow::Result<Report> {
    let (others, start) = (machine::Others::watch(), Instant::now());
    // First, because this checks the device, its images and the environment.
    let bench = Bench::open(options)?;
    let wanted = wanted(options, &bench)?;
    let items = plan::plan(&wanted);
    announce(options, &wanted, &items);

    let mut floor = FloorCase::new(&bench, options.floor)?;
    let (measuring_ns, tick_ns) = measuring(&bench)?;
    let linked_grid = if bench.is_host() {
        Shape::ONE
    } else {
        *wanted.grids.last().unwrap_or(&Shape::ONE)
    };
    let linked = linked::measure(&bench, linked_grid, options.quick)?;
    let waiting = plan::setups(&wanted.wires)
        .into_iter()
        .map(|setup| waiting::measure(&bench, setup, options.quick))
        .collect::<anyhow::Result<_>>()?;
    // All figures once per round, so that other load of the machine affects them equally.
    let mut cases = Vec::new();
    for item in items {
        let floor = FloorCase::new(&bench, options.floor)?;
        cases.push(Case::new(&bench, item, floor)?);
    }
    let mut no_floor = None;
    for _ in 0..options.rounds() {
        // Figures without the floor are better than none.
        if let Err(error) = floor.round(&bench, bench.time) {
            no_floor = Some(error.context("the floor could not be measured"));
        }
        for case in &mut cases {
            if start.elapsed() < options.limit() {
                case.round(&bench);
            } else {
                case.skip(options.limit());
            }
        }
    }

    let floor = floor.figures();
    let calls: Vec<_> = cases
        .iter()
        .filter_map(|case| case.figures(&floor))
        .collect();
    let failed: Vec<_> = cases.iter().filter_map(Case::failed).collect();
    if let Some(error) = cases.into_iter().find_map(|case| case.failure) {
        let message = match failed.len() {
            1 => "1 figure could not be measured".to_owned(),
            more => format!("{more} figures could not be measured, the first"),
        };
        *failure = Some(error.context(message));
    }
    if let Some(error) = no_floor {
        *failure = Some(error);
    }
    Ok(Report {
        schema: report::SCHEMA,
        revoff: env!("CARGO_PKG_VERSION").to_owned(),
        date: machine::now(),
        machine: machine::machine(&others),
        device: report::Device {
            name: bench.name().to_owned(),
            description: bench.device.description(),
            arch: bench.device.arch().to_string(),
            image: bench.image.name().to_owned(),
        },
        environment: env::VARIABLES
            .iter()
            .filter_map(|variable| {
                Some((variable.name.to_owned(), std::env::var(variable.name).ok()?))
            })
            .collect(),
        rounds: options.rounds(),
        seconds: options.time().as_secs_f64(),
        elapsed_seconds: start.elapsed().as_secs_f64(),
        measuring_ns,
        tick_ns,
        ratios: ratios::ratios(&wanted.grids, &calls, linked.as_ref()),
        native_to_empty: ratios::native_to_empty(&wanted.grids, &calls),
        native_to_patched: ratios::native_to_patched(&wanted.grids, &calls),
        native_to_peers: peers::native_to_peers(&calls),
        floor,
        calls,
        failed,
        linked,
        waiting,
    })
}

/// The figures that the command line selects.
fn wanted(options: &Options, bench: &Bench) -> anyhow::Result<Wanted> {
    // The environment's number, or the default.
    let usual_threads = Runtime::open(bench.name())?.cost().threads;
    Ok(Wanted {
        wires: options.wires(&bench.device.arch()),
        peers: options.peers,
        calls: options.calls(),
        grids: options.grids(bench.is_host()),
        host_threads: options.host_threads.iter().map(|&n| n.into()).collect(),
        usual_threads,
    })
}

/// Prints the expected time on a terminal.
fn announce(options: &Options, wanted: &Wanted, items: &[Item]) {
    if std::io::stderr().is_terminal() {
        let time = plan::estimate(items, options.rounds(), options.time());
        // Quiet kernels, on each wire.
        let quiet = if options.quick { 1 } else { 5 } * plan::setups(&wanted.wires).len();
        output::say(&format!(
            "{} in {}, about {} s",
            Count(items.len() as u64, "figure"),
            Count(options.rounds().into(), "round"),
            time.as_secs() + quiet as u64
        ));
    }
}

/// The overhead of each measured time (the median of timing nothing), and the length of a tick.
fn measuring(bench: &Bench) -> anyhow::Result<(u64, f64)> {
    bench.watchdog.at("timing nothing");
    let mut session = Session::open(
        bench,
        Use {
            setup: Setup::Wire {
                wire: WireKind::NATIVE,
                waiting: ADAPTIVE,
            },
            grid: Shape::ONE,
            host_threads: None,
            cores: bench.cores,
        },
    )?;
    let (latency, tick_ns) = session.time(MEASURE, bench.time)?;
    Ok((latency.percentile(50.0), tick_ns))
}
