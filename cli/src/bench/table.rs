//! The report as a table.

use std::fmt::{self, Write};

use revoff_host::targets::count::Count;

use super::caveats;
use super::report::{Calls, Floor, Linked, Quiet, Ratios, Report};

/// The report as text.
pub(crate) fn render(report: &Report) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let out = &mut text;
    let machine = &report.machine;
    writeln!(
        out,
        "revoff {} on {} ({}, {}), {}\ndevice {} ({}): {}",
        report.revoff,
        machine.model.as_deref().unwrap_or("an unnamed processor"),
        Count(machine.cores as u64, "core"),
        machine.arch,
        report.date,
        report.device.name,
        report.device.arch,
        report.device.description,
    )?;
    if let Some((others, _)) = caveats::others(machine) {
        writeln!(out, "{others}")?;
    }
    for (name, value) in &report.environment {
        writeln!(out, "{name}={value}")?;
    }
    floor(out, &report.floor)?;
    writeln!(
        out,
        "measuring itself is {} of each time, a tick {:.3} ns; {}, {} s for each figure, \
         {:.0} s in all",
        time(report.measuring_ns),
        report.tick_ns,
        Count(report.rounds.into(), "round"),
        report.seconds,
        report.elapsed_seconds,
    )?;

    writeln!(
        out,
        "\n{:<8} {:<9} {:<11} {:>8} {:>7} {:>12} {:>21} {:>9} {:>9} {:>9} {:>10} {:>9}  cores",
        "wire",
        "waiting",
        "call",
        "grid",
        "threads",
        "requests/s",
        "of all rounds",
        "p50",
        "p99",
        "floor",
        "rate/floor",
        "p50/floor",
    )?;
    for calls in &report.calls {
        line(out, calls)?;
    }
    for failed in &report.failed {
        writeln!(out, "not measured: {}: {}", failed.what, failed.error)?;
    }
    ratios(out, &report.ratios)?;
    for ratio in &report.native_to_empty {
        writeln!(
            out,
            "native's {} takes {:.2} times an empty call (p50), floor {}",
            ratio.call,
            ratio.p50,
            time(ratio.floor_p50_ns),
        )?;
    }
    for ratio in &report.native_to_patched {
        writeln!(
            out,
            "native serves {:.1} times the requests/s of gcc-ring as patched, grid {}",
            ratio.rate, ratio.grid,
        )?;
    }
    for ratio in &report.native_to_peers {
        let time = ratio
            .p50
            .map(|p50| format!(", and takes {p50:.2} times its time (p50)"));
        writeln!(
            out,
            "native serves {:.2} times the requests/s of {}{}: {}, grid {}",
            ratio.rate,
            ratio.peer,
            time.unwrap_or_default(),
            ratio.call,
            ratio.grid,
        )?;
    }
    if let Some(linked) = &report.linked {
        linked_line(out, linked)?;
    }

    writeln!(
        out,
        "\nwhile a kernel runs and asks for nothing, and its first request after that"
    )?;
    for quiet in &report.waiting {
        quiet_line(out, quiet)?;
    }
    Ok(text)
}

fn floor(out: &mut String, floor: &Floor) -> fmt::Result {
    writeln!(
        out,
        "\nfloor: {} hand a word over and back in {} (p99 {}), {:.0} times a second, {}",
        match &*floor.kind {
            "kernel" => "a kernel and a thread",
            _ => "two threads",
        },
        time(floor.p50_ns),
        time(floor.p99_ns),
        floor.rate.median,
        place(floor.cores),
    )
}

fn line(out: &mut String, calls: &Calls) -> fmt::Result {
    writeln!(
        out,
        "{:<8} {:<9} {:<11} {:>8} {:>7} {:>12.0} {:>21} {:>9} {:>9} {:>9} {:>10.4} {:>9}  {}",
        calls.wire,
        calls.waiting,
        calls.call,
        calls.grid,
        calls.host_threads,
        calls.rate.median,
        format!("{:.0} to {:.0}", calls.rate.min, calls.rate.max),
        known(calls.p50_ns.map(time)),
        known(calls.p99_ns.map(time)),
        known(calls.floor_p50_ns.map(time)),
        calls.rate_to_floor,
        known(calls.p50_to_floor.map(|ratio| format!("{ratio:.2}"))),
        place(calls.cores),
    )
}

fn ratios(out: &mut String, ratios: &Ratios) -> fmt::Result {
    writeln!(out)?;
    if let Some(ratio) = ratios.native_p50_to_floor {
        writeln!(
            out,
            "native's empty call takes {ratio:.2} times the floor (p50)"
        )?;
    }
    if let Some(ns) = ratios.native_tofrom_64_minus_empty_ns {
        writeln!(out, "64 bytes both ways take native {ns} ns more (p50)")?;
    }
    if let Some(ns) = ratios.native_work_10us_p50_ns {
        writeln!(
            out,
            "a serial caller of a 10 us host function on native waits {} (p50)",
            time(ns)
        )?;
    }
    if let (Some(ratio), Some(grid)) = (ratios.native_to_gcc_slot_rate, ratios.largest_grid) {
        writeln!(
            out,
            "native serves {ratio:.1} times the requests/s of gcc-slot, grid {grid}"
        )?;
    }
    Ok(())
}

fn linked_line(out: &mut String, linked: &Linked) -> fmt::Result {
    writeln!(
        out,
        "a kernel that makes no call takes {:.4} times as long in an image with the runtime \
         (quarters of {} pairs: {:.4} and {:.4}), {} instead of {}, grid {}",
        linked.ratio,
        linked.runs,
        linked.ratio_low,
        linked.ratio_high,
        time(linked.linked_ns),
        time(linked.unlinked_ns),
        linked.grid,
    )
}

fn quiet_line(out: &mut String, quiet: &Quiet) -> fmt::Result {
    let cpu = match quiet.cpu_percent {
        Some(percent) => format!("{percent:.2} % of a core"),
        None => "not measured".to_owned(),
    };
    write!(out, "{:<10} {:<10} {cpu}", quiet.wire, quiet.waiting)?;
    for pauses in &quiet.pauses {
        write!(
            out,
            "; after {:.2} s: {} (p99 {}, {})",
            pauses.pause_seconds,
            time(pauses.p50_ns),
            time(pauses.p99_ns),
            Count(pauses.calls, "call"),
        )?;
    }
    writeln!(out)
}

/// A time in the unit that suits it.
fn time(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        _ => format!("{:.1} ms", ns as f64 / 1e6),
    }
}

/// The value, if it was measured.
fn known(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// The cores of threads.
fn place(cores: Option<[usize; 2]>) -> String {
    match cores {
        Some([first, second]) => format!("pinned to {first} and {second}"),
        None => "not pinned".to_owned(),
    }
}
