//! The cost of a call on the bus, by wire and call: counts of an emulated GPU, and estimates.

use std::fmt::{self, Write};

use revoff_host::Grid;
use revoff_host::bus_cost::{BUSES, Costs, ENTRY, Report};
use revoff_host::shared_abi::wire::WireKind;
use serde::Serialize;

use super::context::Bench;
use super::counting::{CALLS, Counted, Counter, KERNEL, THREADS};
use super::host_functions::functions;
use super::kinds::Call;
use super::options::Options;
use super::peers::{self, Estimated};
use super::plot;
use crate::output;

/// The costs of one kind of call, as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    wire: &'a str,
    call: &'a str,
    threads: u32,
    #[serde(flatten)]
    report: Report<'a>,
}

/// Counts the selected calls on the selected wires, and prints the counts.
pub(super) fn run(options: &Options) -> anyhow::Result<()> {
    let bench = Bench::open(options)?;
    let mut all = Vec::new();
    for wire in options.wires(&bench.device.arch()) {
        // The host's time is not counted.
        for call in options.calls().into_iter().filter(|call| !call.waits()) {
            for threads in THREADS {
                let name = wire.name().unwrap_or_default();
                bench
                    .watchdog
                    .at(format!("{name} {}, {threads} threads", call.name));
                all.push(Counted {
                    wire: name,
                    call: call.name,
                    threads,
                    lanes: threads,
                    costs: count(&bench, wire, call, threads)?,
                });
            }
        }
    }
    if options.peers {
        all.extend(peers::count(&bench, options)?);
    }
    let answers: Vec<_> = all.iter().map(Counted::answer).collect();
    let estimated: Vec<_> = answers.iter().map(Answer::estimated).collect();
    match options.json {
        true => output::json(&answers)?,
        false => output::print(&render(&bench, &answers, &estimated)?)?,
    }
    match &options.plot {
        Some(dir) => plot::draw_estimates(bench.name(), &estimated, dir),
        None => Ok(()),
    }
}

/// Counts one kind of call.
fn count(bench: &Bench, wire: WireKind, call: &Call, threads: u32) -> anyhow::Result<Costs> {
    let counter = Counter::of(bench, ENTRY);
    let runtime = counter.count(bench).wire(wire).build()?;
    let kernel = runtime.load(&bench.image, &functions()?)?.kernel(KERNEL)?;
    let grid = Grid { teams: 1, threads };
    // SAFETY: the parameters are the kernel's, which accesses no memory of the host.
    unsafe { kernel.launch(grid, &[&call.what, &CALLS])? }.wait()?;
    counter.costs()
}

impl Counted {
    fn answer(&self) -> Answer<'_> {
        Answer {
            wire: self.wire,
            call: self.call,
            threads: self.threads,
            report: Report::per_team(&self.costs, self.lanes),
        }
    }
}

impl Answer<'_> {
    fn estimated(&self) -> Estimated<'_> {
        let estimates = self.report.estimates.iter();
        Estimated {
            wire: self.wire,
            call: self.call,
            threads: self.threads,
            ns: estimates.map(|estimate| estimate.total_ns).collect(),
        }
    }
}

/// The table.
fn render(
    bench: &Bench,
    answers: &[Answer<'_>],
    estimated: &[Estimated<'_>],
) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let out = &mut text;
    writeln!(
        out,
        "costs on {} of a call by all threads of a team together: counts, and estimates (no \
         measurements) without the host's time\n",
        bench.name()
    )?;
    write!(
        out,
        "{:<9} {:<11} {:>7} {:>12} {:>7} {:>7} {:>7} {:>7} {:>7} {:>10} {:>8}",
        "wire",
        "call",
        "threads",
        "instructions",
        "stores",
        "fences",
        "waits",
        "reads",
        "drops",
        "poll loads",
        "atomics",
    )?;
    for bus in &BUSES {
        write!(out, "  {:>24}", bus.name)?;
    }
    writeln!(out)?;
    for answer in answers {
        line(out, answer)?;
    }
    writeln!(
        out,
        "\nstores: write transactions on the bus; fences: of the system; waits: those of them that wait \
         for stores;\nreads: round trips over the bus after each other, besides polls; drops: acquires \
         that drop the L1 cache, repeated ones once;\npoll loads: read transactions of one poll; \
         atomics: on device memory; instructions: of warps, polls included;\nin brackets: relative to \
         an exchange of two flags"
    )?;
    peers::cost_ratios(out, estimated)?;
    Ok(text)
}

fn line(out: &mut String, answer: &Answer<'_>) -> fmt::Result {
    let Answer {
        wire,
        call,
        threads,
        report,
    } = answer;
    let Some(per_call) = &report.per_call else {
        return writeln!(out, "{wire:<9} {call:<11} {threads:>7} no calls");
    };
    let polls = per_call.polls.transactions / per_call.serial_polls.max(1.0);
    write!(
        out,
        "{wire:<9} {call:<11} {threads:>7} {:>12.0} {:>7.1} {:>7.1} {:>7.1} {:>7.1} {:>7.1} {:>10.1} {:>8.1}",
        per_call.warp_instructions,
        per_call.stores.transactions,
        per_call.fences.sys,
        per_call.store_fences,
        per_call.serial_reads,
        per_call.l1_drops,
        polls,
        per_call.device_atomics,
    )?;
    for estimate in &report.estimates {
        write!(
            out,
            "  {:>12.2} us ({:>6.2})",
            estimate.total_ns / 1000.0,
            estimate.to_two_flag
        )?;
    }
    writeln!(out)
}
