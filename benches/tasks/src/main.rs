//! The cost of tasks with dependencies that the device resolves, compared with the same tasks
//! resolved by the host: each graph is run both ways alternately.

mod graphs;
mod memory;

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Instant;

use clap::Parser;
use revoff_host::Image;
use revoff_host::task::{Options, Resolve, scope};
use serde::Serialize;

use crate::graphs::{Device, GRAPHS, Graph};

/// The number of waiting tasks for the measurement of memory.
const WAITING: usize = 100_000;

/// Measures tasks whose dependencies the device resolves, and whose the host does.
#[derive(Parser)]
struct Arguments {
    /// The device of most graphs.
    #[arg(long, default_value = "host")]
    device: String,
    /// A device of another kind, for graphs on two, such as `emu`; takes `--image`.
    #[arg(long, requires = "image")]
    other: Option<String>,
    /// An image for these devices, by `cargo xtask images --kernel-crate
    /// benches/tasks/kernel --target host`; without, one for `host`.
    #[arg(long)]
    image: Option<PathBuf>,
    /// Number of runs of each graph in each way.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// One graph, both ways. Times are medians, in microseconds per task.
#[derive(Serialize)]
struct Row {
    graph: &'static str,
    tasks: usize,
    device_resolved_us: f64,
    host_resolved_us: f64,
    /// The host's time relative to the device's: the median of the rounds, and the quartiles, which
    /// show the spread.
    ratio: f64,
    ratio_quartiles: [f64; 2],
    device_resolved_host_waits: u64,
    host_resolved_host_waits: u64,
}

#[derive(Serialize)]
struct Report {
    device: String,
    other: Option<String>,
    rounds: u32,
    graphs: Vec<Row>,
    skipped: Vec<String>,
    bytes_per_waiting_task: f64,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let path = arguments.image.clone();
    let image = Image::open(path.unwrap_or_else(|| env!("REVOFF_IMAGE_BENCH_TASKS").into()))?;
    let mut devices = vec![Device::open(&arguments.device, &image)?];
    if let Some(other) = &arguments.other {
        devices.push(Device::open(other, &image)?);
    }
    let mut graphs = Vec::new();
    let mut skipped = Vec::new();
    for graph in GRAPHS {
        if graph.devices > devices.len() {
            skipped.push(format!("{}: takes two devices, see --other", graph.name));
        } else {
            graphs.push(measure(graph, &devices, arguments.rounds)?);
        }
    }
    let report = Report {
        bytes_per_waiting_task: waiting(&devices)?,
        device: arguments.device,
        other: arguments.other,
        rounds: arguments.rounds,
        graphs,
        skipped,
    };
    let text = if arguments.json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        table(&report)
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Microseconds for each task, and host waits.
fn run(graph: &Graph, devices: &[Device], resolve: Resolve) -> anyhow::Result<(f64, u64)> {
    let start = Instant::now();
    let host_waits = Options::default().resolve(resolve).scope(|tasks| {
        (graph.spawn)(tasks, devices, graph.tasks)?;
        tasks.wait()?;
        Ok(tasks.stats().host_waits)
    })?;
    let time = start.elapsed().as_secs_f64() * 1e6;
    Ok((time / graph.tasks as f64, host_waits))
}

fn measure(graph: &Graph, devices: &[Device], rounds: u32) -> anyhow::Result<Row> {
    let (mut device, mut host, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut waits = (0, 0);
    // The first round warms up.
    for round in 0..=rounds {
        let mut times = [(Resolve::OnDevice, 0.0), (Resolve::OnHost, 0.0)];
        // The order alternates, since the second run finds threads awake and memory warm.
        if round % 2 == 1 {
            times.reverse();
        }
        for (resolve, time) in &mut times {
            let (measured, host_waits) = run(graph, devices, *resolve)?;
            *time = measured;
            match resolve {
                Resolve::OnDevice => waits.0 = host_waits,
                Resolve::OnHost => waits.1 = host_waits,
            }
        }
        if round % 2 == 1 {
            times.reverse();
        }
        let [(_, by_device), (_, by_host)] = times;
        if round > 0 {
            device.push(by_device);
            host.push(by_host);
            ratios.push(by_host / by_device);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let quartile = |quarters: usize| ratios[quarters * (ratios.len() - 1) / 4];
    Ok(Row {
        graph: graph.name,
        tasks: graph.tasks,
        device_resolved_us: median(device),
        host_resolved_us: median(host),
        ratio: quartile(2),
        ratio_quartiles: [quartile(1), quartile(3)],
        device_resolved_host_waits: waits.0,
        host_resolved_host_waits: waits.1,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Bytes of a target task that waits for a host task.
fn waiting(devices: &[Device]) -> anyhow::Result<f64> {
    let (open, opened) = mpsc::channel::<()>();
    let bytes = scope(|tasks| {
        // It ends when `open` is dropped.
        let gate = tasks.host(move || opened.recv().is_ok());
        gate.writes(&devices[0].blocks[0]).spawn()?;
        let before = memory::allocated();
        let chain = GRAPHS[0].spawn;
        chain(tasks, devices, WAITING)?;
        let after = memory::allocated();
        drop(open);
        Ok(after - before)
    })?;
    Ok(bytes as f64 / WAITING as f64)
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "device {}{}, medians of {} rounds: us for each task,\nand of the rounds' ratios, host to device\n\n{:<16}{:>7}{:>10}{:>10}{:>8}{:>16}{:>22}\n",
        report.device,
        report
            .other
            .as_ref()
            .map(|other| format!(" and {other}"))
            .unwrap_or_default(),
        report.rounds,
        "graph",
        "tasks",
        "device",
        "host",
        "ratio",
        "quartiles",
        "host waits"
    );
    for row in &report.graphs {
        let waits = format!(
            "{} / {}",
            row.device_resolved_host_waits, row.host_resolved_host_waits
        );
        let [low, high] = row.ratio_quartiles;
        let quartiles = format!("{low:.2} to {high:.2}");
        text += &format!(
            "{:<16}{:>7}{:>10.2}{:>10.2}{:>8.2}{quartiles:>16}{waits:>22}\n",
            row.graph, row.tasks, row.device_resolved_us, row.host_resolved_us, row.ratio
        );
    }
    for skipped in &report.skipped {
        text += &format!("SKIPPED {skipped}\n");
    }
    text += &format!(
        "\n{:.0} bytes for a task that waits\n",
        report.bytes_per_waiting_task
    );
    text
}
