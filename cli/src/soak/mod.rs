//! `revoff soak`: calls for a long time, each of which is checked on both sides.
//!
//! | file | job |
//! |---|---|
//! | `ledger` | what the host has seen of each device thread |
//! | `fault` | what is made to fail |
//! | `usage` | what the process uses |

mod fault;
mod ledger;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use revoff_host::device;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::targets::count::Count;
use revoff_host::{Grid, Image, Program, Runtime, env};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use self::fault::Fault;
use self::ledger::{Ended, Ledger, Totals};
use self::usage::Usage;
use crate::bench;
use crate::output;

/// Grids, with the messages of each device thread in a launch: one has more threads than the smaller number of slots,
/// and one has a thread that waits for nobody, whose calls are fast.
const GRIDS: [(Grid, u64); 2] = [
    (
        Grid {
            teams: 4,
            threads: 8,
        },
        200,
    ),
    (
        Grid {
            teams: 1,
            threads: 1,
        },
        50_000,
    ),
];

/// Launches on a runtime, before the next one is opened: enough for each [`Fault`].
const LAUNCHES: u64 = 8;

/// First sequence numbers: soon, every counter of 32 bits wraps, or becomes negative.
const FIRST: [u32; 3] = [0, u32::MAX - 100, (1 << 31) - 100];

/// Numbers of slots: fewer than threads, and the default.
const SLOTS: [Option<u32>; 2] = [Some(4), None];

/// The time after which a launch without faults has hung.
const HUNG: Duration = Duration::from_secs(120);

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
#[command(after_help = "\
Each device thread numbers its messages. The host notices those that are missing
or come twice, and both sides notice those that have changed. Runtimes are
opened and closed; their counters wrap.

--faults also makes host functions panic, stall, write to a full disk and ask for
more memory than there is, and aborts launches. These launches must fail, each with
its own error, and the launches after them must not.

Ctrl-C (SIGINT or SIGTERM) ends it as the end of its time does; a second one, at once.

Examples:
  revoff soak --seconds 3600
  revoff soak --wires native --faults
  revoff soak --device emu --image bench_kernels.offload")]
pub(crate) struct Options {
    /// How long, or longer: eight launches on a runtime are completed
    #[arg(long, default_value_t = 60)]
    seconds: u64,

    /// The wires [default: native,gcc-ring,gcc-slot; on AMD GPUs native,gcn-queue]
    #[arg(long, value_name = "WIRE,..", value_delimiter = ',', value_parser = revoff_host::wire_by_name)]
    wires: Vec<WireKind>,

    /// Make calls and launches on `native` fail, too
    #[arg(long)]
    faults: bool,

    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,

    /// The device that runs the kernels
    #[arg(long, default_value = "host", help = format!("The device that runs the kernels: {}", device::names()))]
    device: String,

    /// Image with the kernels (of benches/kernels), for a device other than `host`
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
}

/// The results so far, and the resources of the process.
#[derive(Serialize)]
struct Report {
    device: String,
    seconds: f64,
    launches: u64,
    /// Launches that failed because they were made to.
    planned_failures: u64,
    /// Other launches that failed, or that did not fail as planned: the first one ends the soak.
    unplanned_failures: u64,
    /// Kinds of runtimes that were opened, of `all_kinds`: wires, numbers of slots, grids, and first sequence numbers.
    kinds: usize,
    all_kinds: usize,
    /// How often a runtime of each kind has been opened.
    cycles: usize,
    /// Requested wires on which there was no launch.
    unreached_wires: Vec<&'static str>,
    #[serde(flatten)]
    totals: Totals,
    /// At the end of the first cycle.
    usage_at_first: Option<Usage>,
    usage_at_last: Usage,
}

/// Parameters of all launches on a runtime.
#[derive(Clone, Copy, Debug)]
struct Setup {
    wire: WireKind,
    slots: Option<u32>,
    first: u32,
    grid: Grid,
    messages: u64,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let device = device::open(&options.device, &env::Env::read()?)?;
    let image = bench::kernels(&*device, options.image.as_deref())?;
    let wires = bench::wires(&options.wires, &device.arch());
    let start = Instant::now();
    let mut report = Report {
        device: options.device.clone(),
        seconds: 0.0,
        launches: 0,
        planned_failures: 0,
        unplanned_failures: 0,
        kinds: 0,
        all_kinds: 0,
        cycles: 0,
        unreached_wires: wires.iter().filter_map(|wire| wire.name()).collect(),
        totals: Totals::default(),
        usage_at_first: None,
        usage_at_last: Usage::default(),
    };
    let mut setups = vec![];
    for first in FIRST {
        for &wire in &wires {
            for slots in SLOTS {
                setups.extend(GRIDS.map(|(grid, messages)| Setup {
                    wire,
                    slots,
                    first,
                    grid,
                    messages,
                }));
            }
        }
    }
    ensure!(
        !options.faults || wires.contains(&WireKind::NATIVE),
        "--faults makes launches on `native` fail: add it to --wires"
    );
    report.all_kinds = setups.len();
    let is_interrupted = interruption()?;
    let mut next_line = start + INTERVAL;
    let mut result = Ok(());
    for round in 0.. {
        result = soak(&mut report, options, &image, setups[round % setups.len()]);
        report.seconds = start.elapsed().as_secs_f64();
        report.kinds = setups.len().min(round + 1);
        report.cycles = (round + 1) / setups.len();
        report.usage_at_last = Usage::now()?;
        if round + 1 == setups.len() {
            report.usage_at_first = Some(report.usage_at_last);
        }
        // Relaxed: it says nothing of other memory.
        let is_over =
            report.seconds >= options.seconds as f64 || is_interrupted.load(Ordering::Relaxed);
        if is_over || result.is_err() || report.totals.faults() > 0 {
            break;
        }
        if Instant::now() >= next_line {
            next_line = Instant::now() + INTERVAL;
            output::say(&report.line());
        }
    }
    // Without a launch, there is only the error to report.
    if report.launches > 0 {
        if options.json {
            output::json(&report)?;
        } else {
            output::print(&format!("{}\n", report.line()))?;
        }
    }
    result?;
    Ok(match report.totals.faults() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Becomes true at the first SIGINT or SIGTERM; the second one ends the process, as if it was not handled.
fn interruption() -> anyhow::Result<Arc<AtomicBool>> {
    let is_interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Before the flag is set: actions run in this order.
        flag::register_conditional_default(signal, Arc::clone(&is_interrupted))?;
        flag::register(signal, Arc::clone(&is_interrupted))?;
        let say = || {
            let message =
                b"revoff: ends after this runtime's launches; a second signal ends it at once\n";
            // SAFETY: the bytes live as long as the program. A failed write has no remedy.
            unsafe { libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len()) };
        };
        // SAFETY: `write` is among the functions that a signal's handler may call.
        unsafe { signal_hook::low_level::register(signal, say)? };
    }
    Ok(is_interrupted)
}

/// Launches on a runtime of its own.
fn soak(report: &mut Report, options: &Options, image: &Image, setup: Setup) -> anyhow::Result<()> {
    let Setup { wire, grid, .. } = setup;
    let ledger = Arc::new(Ledger::new(grid.teams * grid.threads));
    let builder = Runtime::builder(&options.device).wire(wire).deadline(HUNG);
    let builder = match setup.slots {
        Some(slots) => builder.slots(slots),
        None => builder,
    };
    let runtime = builder.initial_seq(setup.first).build()?;
    let program = runtime.load(image, &ledger.functions()?)?;
    let launches = (0..LAUNCHES).try_for_each(|launch| {
        // GCC's wires tell a device thread nothing of a failed call.
        let fault = match options.faults && wire == WireKind::NATIVE {
            true => Fault::of(launch),
            false => Fault::None,
        };
        let what = || {
            format!(
                "wire {}, {:?} slots, grid {}x{}, launch {launch}, {fault:?}",
                wire.name().unwrap_or_default(),
                setup.slots,
                grid.teams,
                grid.threads,
            )
        };
        report.launches += 1;
        report
            .unreached_wires
            .retain(|&name| wire.name() != Some(name));
        let result = one_launch(&runtime, &program, &ledger, setup, &fault).with_context(what);
        match (&result, &fault) {
            (Ok(()), Fault::None) => {}
            (Ok(()), _) => report.planned_failures += 1,
            (Err(_), _) => report.unplanned_failures += 1,
        }
        result
    });
    report.totals.add(&ledger.totals());
    launches
}

/// Launches once, with a fault, and checks the launch's result and what its threads have seen.
fn one_launch(
    runtime: &Runtime,
    program: &Program,
    ledger: &Ledger,
    Setup { grid, messages, .. }: Setup,
    fault: &Fault,
) -> anyhow::Result<()> {
    let threads = (grid.teams * grid.threads) as usize;
    ledger.begin(messages, fault.clone());
    let ended = runtime.alloc_from(&vec![[0u64; 2]; threads])?;
    let first = ledger.first();
    let kernel = program.kernel("soak")?;
    // SAFETY: the parameters are the kernel's: `ended` has a pair for each thread, and lives until the launch has ended.
    let launch = unsafe { kernel.launch(grid, &[&first, &messages, &ended])? };
    fault.wait(&launch)?;
    let mut pairs = vec![[0; 2]; threads];
    ended.read(0, &mut pairs)?;
    let ended = pairs
        .into_iter()
        .map(|[answered, wrong]| Ended { answered, wrong });
    ensure!(
        ledger.end(ended, messages) != matches!(fault, Fault::None),
        "a launch makes all of its calls, unless it is made to fail"
    );
    Ok(())
}

impl Report {
    fn line(&self) -> String {
        let Totals {
            calls,
            lost,
            doubled,
            wrong,
        } = &self.totals;
        let last = &self.usage_at_last;
        let since = match &self.usage_at_first {
            None => String::new(),
            Some(first) => format!(
                " ({} MiB, {} and {} after the first {} runtimes)",
                first.resident_bytes >> 20,
                first.descriptors,
                first.threads,
                self.all_kinds,
            ),
        };
        let mut failures = String::new();
        for (count, how) in [
            (self.planned_failures, "failed as planned"),
            (self.unplanned_failures, "failed otherwise"),
        ] {
            if count > 0 {
                failures += &format!(", {count} {how}");
            }
        }
        let unreached = match &self.unreached_wires[..] {
            [] => String::new(),
            wires => format!("; no launch on {}", wires.join(", ")),
        };
        format!(
            "{:.0} s: {calls} calls in {} launches{failures}, on {} of {} kinds of runtimes: {lost} lost, {doubled} \
             served twice, {wrong} wrong; memory {} MiB, {}, {}{since}{unreached}",
            self.seconds,
            self.launches,
            self.kinds,
            self.all_kinds,
            last.resident_bytes >> 20,
            Count(last.descriptors as u64, "descriptor"),
            Count(last.threads as u64, "thread"),
        )
    }
}
