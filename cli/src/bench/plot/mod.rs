//! Plots of a report, as SVG.

mod axis;
mod bars;
mod estimates;
mod lines;
mod page;

use std::fs;
use std::path::Path;

use anyhow::Context;
use plotters::style::RGBColor;
use revoff_host::targets::count::Count;

use self::bars::{Bars, Group};
pub(crate) use self::estimates::draw as draw_estimates;
use self::lines::{Line, Lines, Point};
use self::page::Head;
use super::caveats;
use super::kinds::CALLS;
use super::report::{Calls, Report};

/// Makes the folder for [`draw`].
pub(crate) fn prepare(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir)
        .with_context(|| format!("cannot make the folder {} (--plot)", dir.display()))
}

/// Draws all figures of the report into the folder `dir`.
pub(crate) fn draw(report: &Report, dir: &Path) -> anyhow::Result<()> {
    let write = |name: String, svg| write(dir, name, svg);
    // Fixed file names, since the report may be untrusted.
    for call in CALLS.iter().map(|call| call.name) {
        write(format!("rates-{call}"), rates(report, call)?)?;
        write(format!("times-{call}"), times(report, call)?)?;
    }
    write("host-threads".to_owned(), host_threads(report)?)
}

/// Writes a picture, if there is one.
fn write(dir: &Path, name: String, svg: Option<String>) -> anyhow::Result<()> {
    let Some(svg) = svg else { return Ok(()) };
    let file = dir.join(name).with_extension("svg");
    fs::write(&file, svg).with_context(|| format!("cannot write {}", file.display()))
}

/// Requests a second over device threads, a line for each wire.
fn rates(report: &Report, call: &str) -> anyhow::Result<Option<String>> {
    let Some(usual) = report.calls.first().map(|calls| calls.host_threads) else {
        return Ok(None);
    };
    let lines = lines_of(report, wire, |calls| {
        let is = calls.call == call && calls.host_threads == usual;
        is.then(|| calls.grid.device_threads() as f64)
    });
    lines::draw(&Lines {
        head: head(
            report,
            format!(
                "Requests a second, {call} call, {}",
                Count(usual as u64, "host thread")
            ),
            caveats::unmeasured(report, &format!(", {call}, grid ")),
        ),
        x: "device threads".to_owned(),
        floor: Some(report.floor.rate.median),
        lines,
    })
}

/// Requests a second over host threads, a line for each wire and call.
fn host_threads(report: &Report) -> anyhow::Result<Option<String>> {
    // The grid with which their number was measured.
    let Some(usual) = report.calls.first().map(|calls| calls.host_threads) else {
        return Ok(None);
    };
    let Some(other) = report
        .calls
        .iter()
        .find(|calls| calls.host_threads != usual)
    else {
        return Ok(None);
    };
    let grid = other.grid;
    let varied = |calls: &Calls| {
        report.calls.iter().any(|other| {
            other.host_threads != usual && key(other) == key(calls) && other.call == calls.call
        })
    };
    let lines = lines_of(
        report,
        |calls| format!("{}, {}", wire(calls), calls.call),
        |calls| (calls.grid == grid && varied(calls)).then_some(calls.host_threads as f64),
    );
    lines::draw(&Lines {
        head: head(
            report,
            format!("Requests a second, grid {grid}"),
            caveats::unmeasured(report, &format!(", grid {grid}, ")),
        ),
        x: "host threads".to_owned(),
        floor: None,
        lines,
    })
}

/// Round trips of one device thread, a group for each wire.
fn times(report: &Report, call: &str) -> anyhow::Result<Option<String>> {
    let smallest = |calls: &&Calls| calls.grid.device_threads();
    let of_call = || report.calls.iter().filter(|calls| calls.call == call);
    let Some(first) = of_call().min_by_key(smallest) else {
        return Ok(None);
    };
    let threads = Count(first.host_threads as u64, "host thread");
    let part = format!(", {call}, grid {}, {threads}", first.grid);
    let mut notes = caveats::unmeasured(report, &part);
    let mut groups = Vec::new();
    for calls in of_call()
        .filter(|calls| (calls.grid, calls.host_threads) == (first.grid, first.host_threads))
    {
        match (calls.p50_ns, calls.p99_ns) {
            (Some(p50), Some(p99)) if p50 > 0 => groups.push(Group {
                label: wire(calls),
                color: color(key(calls)),
                times: [p50, p99].map(|ns| Some(ns as f64)),
            }),
            _ => notes.push(caveats::untimed(&wire(calls), calls.grid)),
        }
    }
    let title = format!("Time of a round trip, {call} call, grid {}", first.grid);
    let floor = &report.floor;
    let bound = |name: &str, ns| (format!("floor, {name}"), ns as f64);
    bars::draw(&Bars {
        head: head(report, title, notes),
        pair: ["p50", "p99"].map(str::to_owned),
        groups,
        bounds: vec![bound("p50", floor.p50_ns), bound("p99", floor.p99_ns)],
    })
}

/// The figures for which `x` has a value, as lines of one `label` each.
fn lines_of(
    report: &Report,
    label: impl Fn(&Calls) -> String,
    x: impl Fn(&Calls) -> Option<f64>,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for calls in &report.calls {
        let Some(x) = x(calls) else { continue };
        let label = label(calls);
        let point = Point {
            x,
            min: calls.rate.min,
            median: calls.rate.median,
            max: calls.rate.max,
        };
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                label,
                color: color(key(calls)),
                is_hollow: calls.call == "empty",
                points: vec![point],
            }),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    lines
}

fn key(calls: &Calls) -> (&str, &str) {
    (&calls.wire, &calls.waiting)
}

/// The name of a wire in a plot.
fn wire(calls: &Calls) -> String {
    match key(calls) {
        (wire, "sleep-1us") => format!("{wire}, 1 us poll"),
        (wire, _) => wire.to_owned(),
    }
}

/// Colours of wires and how the host waits, for readers with colour blindness (Okabe and Ito's).
fn color(key: (&str, &str)) -> RGBColor {
    match key {
        ("native", _) => RGBColor(0, 114, 178),
        ("gcc-slot", _) => RGBColor(0, 158, 115),
        ("gcc-ring", "adaptive") => RGBColor(230, 159, 0),
        ("gcc-ring", _) => RGBColor(213, 94, 0),
        ("llvm-rpc", _) => RGBColor(86, 180, 233),
        ("libgomp", _) => RGBColor(90, 90, 90),
        _ => RGBColor(204, 121, 167),
    }
}

/// The titles of a plot: place and date of the measurement, and the caveats of the table.
fn head(report: &Report, title: String, notes: Vec<String>) -> Head {
    let device = &report.device;
    let day = report.date.split('T').next().unwrap_or_default();
    Head {
        title,
        subtitle: format!("{}: {}, {day}", device.name, device.description),
        notes: caveats::busy(report).into_iter().chain(notes).collect(),
    }
}
