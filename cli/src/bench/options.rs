//! The command line of `revoff bench`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use revoff_host::device;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::targets::DeviceArch;

use super::kinds::{CALLS, Call};
use super::shape::Shape;

/// Seconds that each figure is measured with `--quick`.
const QUICK: f64 = 0.05;

#[derive(Debug, Args)]
#[command(after_help = "\
The floor is the time to pass a word to the other side and back: no call can be
faster. `sleep-1us` is how the parallel patch for GCC waits: it sleeps a
microsecond between two polls.

Examples:
  revoff bench --wires native --threads 1
  revoff bench --json > figures.json
  revoff bench --from figures.json --plot figures
  revoff bench --peers --threads 1,2,4,8
  revoff bench --costs --peers --device emu --image bench_kernels.offload
  revoff bench --device cuda:0 --image bench_kernels.offload \\
      --quiet-image bench_quiet.offload --json --plot figures > figures.json

Other load of the machine affects the figures.")]
pub(crate) struct Options {
    /// Print one JSON object instead of a table (docs/bench-json.md)
    #[arg(long)]
    pub(super) json: bool,

    /// Measure no time; count what each call does on the bus between device and host, and estimate its
    /// time; for the device `emu`
    #[arg(long, conflicts_with_all = ["from", "seconds", "rounds", "quick", "threads", "grids"])]
    pub(super) costs: bool,

    /// Include other runtimes: LLVM's RPC, and with --costs GCC's libgomp (--gcc-libgomp)
    #[arg(long)]
    pub(super) peers: bool,

    /// GCC's libgomp.a for NVIDIA, whose GOMP_target_ext is counted
    #[arg(long, value_name = "FILE", requires = "peers", requires = "costs")]
    pub(super) gcc_libgomp: Option<PathBuf>,

    /// Draw the figures into this folder too, as SVG
    #[arg(long, value_name = "DIR")]
    pub(super) plot: Option<PathBuf>,

    /// Measure nothing; take the figures from a file that --json wrote
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "seconds", "rounds", "quick", "limit", "wires", "calls", "threads", "grids",
            "host_threads", "floor", "device", "image", "quiet_image", "no_pin", "patience",
            "peers",
        ]
    )]
    pub(super) from: Option<PathBuf>,

    /// Seconds that each figure is measured, in each round
    #[arg(long, default_value = "0.1", value_parser = seconds)]
    seconds: f64,

    /// Rounds in which everything is measured; rates are the median of all
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// One short round, as a smoke test
    #[arg(long, conflicts_with_all = ["seconds", "rounds"])]
    pub(super) quick: bool,

    /// Seconds after which no more figures are measured
    #[arg(long, value_name = "SECONDS", default_value_t = 200)]
    limit: u64,

    /// The wires to measure
    /// [default: native,gcc-ring,gcc-slot; on AMD GPUs native,gcn-queue]
    #[arg(
        long,
        value_name = "WIRE,..",
        value_delimiter = ',',
        value_parser = revoff_host::wire_by_name
    )]
    wires: Vec<WireKind>,

    /// The calls to measure: empty, typed, tofrom-64, tofrom-4096, work-10us
    /// [default: all]
    #[arg(long, value_name = "CALL,..", value_delimiter = ',', value_parser = call)]
    calls: Vec<&'static Call>,

    /// Numbers of device threads to measure with, in one team
    /// [default on `host`: 1,2,4,8]
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        conflicts_with = "grids",
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    threads: Vec<u32>,

    /// Grids to measure with
    /// [default elsewhere: 1x1,1x32,8x32,132x32,132x256]
    #[arg(long, value_name = "TEAMSxTHREADS,..", value_delimiter = ',')]
    grids: Vec<Shape>,

    /// Most host threads that serve calls, where their number is what is measured
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "1,2,4,8,16",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    pub(super) host_threads: Vec<u16>,

    /// Measure the floor between two threads of this machine, or between a kernel and
    /// a thread [default: `threads` on `host`, `kernel` elsewhere]
    #[arg(long, value_enum)]
    pub(super) floor: Option<FloorKind>,

    /// The device that runs the kernels
    #[arg(long, default_value = "host", help = format!("The device that runs the kernels: {}", device::names()))]
    pub(super) device: String,

    /// Image with the kernels (of benches/kernels), for a device other than `host`
    #[arg(long, value_name = "FILE")]
    pub(super) image: Option<PathBuf>,

    /// Image without the runtime (of benches/quiet), for a device other than `host`
    #[arg(long, value_name = "FILE")]
    pub(super) quiet_image: Option<PathBuf>,

    /// Do not pin threads to cores
    ///
    /// Otherwise, on `host`, the two threads of the floor have a core each, and so
    /// have the device thread and the serving threads where there is one device
    /// thread.
    #[arg(long)]
    pub(super) no_pin: bool,

    /// Seconds without any progress after which the command gives up
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    patience: u64,
}

/// The two sides of the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FloorKind {
    /// Two threads of this machine.
    Threads,
    /// A kernel, and a thread of this machine.
    Kernel,
}

impl Options {
    /// How long each figure is measured in a round.
    pub(super) fn time(&self) -> Duration {
        Duration::from_secs_f64(if self.quick { QUICK } else { self.seconds })
    }

    pub(super) fn rounds(&self) -> u32 {
        if self.quick { 1 } else { self.rounds }
    }

    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(self.limit)
    }

    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs(self.patience)
    }

    /// The wires, on a device of this architecture.
    pub(super) fn wires(&self, arch: &DeviceArch) -> Vec<WireKind> {
        wires(&self.wires, arch)
    }

    /// The selected calls, in the order of [`CALLS`].
    pub(super) fn calls(&self) -> Vec<&'static Call> {
        let chosen = |call: &&Call| {
            self.calls.is_empty() || self.calls.iter().any(|chosen| chosen.name == call.name)
        };
        CALLS.iter().filter(chosen).collect()
    }

    /// The grids, from the smallest to the largest, each once.
    pub(super) fn grids(&self, is_host: bool) -> Vec<Shape> {
        let mut grids = self.grids.clone();
        let of = |&threads: &u32| Shape { teams: 1, threads };
        grids.extend(self.threads.iter().map(of));
        if grids.is_empty() && is_host {
            grids.extend([1, 2, 4, 8].iter().map(of));
        } else if grids.is_empty() {
            // From a thread and a warp to all that the multiprocessors of a large GPU
            // have: more threads than any wire has slots.
            let gpu = [(1, 1), (1, 32), (8, 32), (132, 32), (132, 256)];
            grids.extend(gpu.map(|(teams, threads)| Shape { teams, threads }));
        }
        grids.sort_by_key(|grid| (grid.device_threads(), grid.teams));
        grids.dedup();
        grids
    }
}

/// The `chosen` wires, each once, or if there are none, those of a device of this architecture.
pub(crate) fn wires(chosen: &[WireKind], arch: &DeviceArch) -> Vec<WireKind> {
    match (chosen, arch) {
        ([], DeviceArch::Amd(_)) => vec![WireKind::NATIVE, WireKind::GCN_QUEUE],
        ([], _) => vec![WireKind::NATIVE, WireKind::GCC_RING, WireKind::GCC_SLOT],
        (chosen, _) => {
            let mut wires = vec![];
            for wire in chosen {
                if !wires.contains(wire) {
                    wires.push(*wire);
                }
            }
            wires
        }
    }
}

fn seconds(text: &str) -> anyhow::Result<f64> {
    text.parse()
        .ok()
        .filter(|seconds| (0.01..=60.0).contains(seconds))
        .context("a number from 0.01 to 60 is expected")
}

fn call(name: &str) -> anyhow::Result<&'static Call> {
    let found = CALLS.iter().find(|call| call.name == name);
    found.with_context(|| {
        let names: Vec<_> = CALLS.iter().map(|call| call.name).collect();
        format!("there are {}", names.join(", "))
    })
}
