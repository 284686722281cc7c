//! The report for people.

use std::fmt::{self, Write};

use super::report::{Calls, Quiet, Report};

/// From here on, in percent of a core, what others do shows in the figures.
const DISTURBED: f64 = 10.0;

/// The report as text.
pub(crate) fn render(report: &Report) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let out = &mut text;
    let machine = &report.machine;
    writeln!(
        out,
        "revoff {} on {} ({} cores, {}), device {}, {}",
        report.revoff,
        machine.model.as_deref().unwrap_or("an unnamed processor"),
        machine.cores,
        machine.arch,
        report.device.name,
        report.date,
    )?;
    if let Some(percent) = machine.others_percent {
        writeln!(
            out,
            "other programs used {percent:.0} % of a core meanwhile{}",
            if percent > DISTURBED {
                ": these figures suffer from it"
            } else {
                ""
            },
        )?;
    }
    for (name, value) in &report.environment {
        writeln!(out, "{name}={value}")?;
    }
    let floor = &report.floor;
    writeln!(
        out,
        "\nfloor: two threads hand a word over and back in {} (p99 {}), {:.0} times a second, {}",
        time(floor.p50_ns),
        time(floor.p99_ns),
        floor.rate.median,
        place(floor.cores),
    )?;
    writeln!(
        out,
        "measuring itself is {} of each time; rounds: {}, {} s for each figure",
        time(report.measuring_ns),
        report.rounds,
        report.seconds,
    )?;

    writeln!(
        out,
        "\n{:<10} {:<10} {:<10} {:>7} {:>12} {:>21} {:>9} {:>9} {:>10} {:>9}  threads",
        "wire",
        "waiting",
        "call",
        "threads",
        "requests/s",
        "of all rounds",
        "p50",
        "p99",
        "rate/floor",
        "p50/floor",
    )?;
    for calls in &report.calls {
        line(out, calls)?;
    }
    for ratio in &report.native_to_patched {
        writeln!(
            out,
            "native serves {:.1} times the requests/s of gcc-ring as patched, {} device thread{}",
            ratio.rate,
            ratio.threads,
            if ratio.threads == 1 { "" } else { "s" },
        )?;
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

fn line(out: &mut String, calls: &Calls) -> fmt::Result {
    writeln!(
        out,
        "{:<10} {:<10} {:<10} {:>7} {:>12.0} {:>21} {:>9} {:>9} {:>10.4} {:>9.2}  {}",
        calls.wire,
        calls.waiting,
        calls.call,
        calls.threads,
        calls.rate.median,
        format!("{:.0} to {:.0}", calls.rate.min, calls.rate.max),
        time(calls.p50_ns),
        time(calls.p99_ns),
        calls.rate_to_floor,
        calls.p50_to_floor,
        place(calls.cores),
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
            "; after {:.2} s: {} (p99 {}, {} calls)",
            pauses.pause_seconds,
            time(pauses.p50_ns),
            time(pauses.p99_ns),
            pauses.calls,
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

/// Where threads ran.
fn place(cores: Option<[usize; 2]>) -> String {
    match cores {
        Some([first, second]) => format!("pinned to {first} and {second}"),
        None => "not pinned".to_owned(),
    }
}
