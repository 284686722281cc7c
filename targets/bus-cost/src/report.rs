//! The counts of a launch for people and as JSON.

use std::fmt::{self, Write};
use std::sync::Arc;

use serde::Serialize;

use crate::bus::{BUSES, Estimate};
use crate::counts::{Costs, CountCosts, Counts, ENTRY, PerCall};

/// The counts of a launch, and the estimated time of its calls.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    costs: &'a Costs,
    /// The averages of a call, which all estimates are of; absent without calls.
    pub per_call: Option<PerCall>,
    /// Estimates, not measurements: the round trip of a call without the host's own time.
    pub estimates: Vec<BusEstimate>,
}

/// An estimate for a bus.
#[derive(Debug, Serialize)]
pub struct BusEstimate {
    bus: &'static str,
    #[serde(flatten)]
    parts: Estimate,
    /// The time of a round trip.
    pub total_ns: f64,
    /// Relative to a bare exchange of two flags in the same model.
    pub to_two_flag: f64,
}

impl<'a> Report<'a> {
    /// A report on calls by lanes together: those that enter at the same time make one call.
    #[must_use]
    pub fn new(costs: &'a Costs) -> Self {
        Self::with_average(costs, costs.calls.per_warp_call())
    }

    /// A report on calls by each of `threads` lanes, which may enter in several groups.
    #[must_use]
    pub fn per_team(costs: &'a Costs, threads: u32) -> Self {
        let calls = &costs.calls;
        Self::with_average(costs, calls.average(calls.lane_calls / u64::from(threads)))
    }

    fn with_average(costs: &'a Costs, per_call: Option<PerCall>) -> Self {
        let estimates = per_call.iter().flat_map(|call| {
            BUSES.iter().map(|bus| {
                let parts = bus.estimate(call);
                let total_ns = parts.total_ns();
                BusEstimate {
                    bus: bus.name,
                    parts,
                    total_ns,
                    to_two_flag: total_ns / bus.two_flag().total_ns(),
                }
            })
        });
        Self {
            costs,
            estimates: estimates.collect(),
            per_call,
        }
    }

    /// The report as a table.
    ///
    /// # Errors
    /// None: text takes any length.
    pub fn render(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        let out = &mut text;
        let calls = &self.costs.calls;
        writeln!(
            out,
            "calls of {}: {} by lanes together, {} in all",
            calls.entry, calls.warp_calls, calls.lane_calls
        )?;
        writeln!(out, "{:<44} {:>12} {:>14}", "", "per call", "whole launch")?;
        let call = self.per_call.as_ref();
        for (name, count, average) in rows() {
            let count = count(&self.costs.launch);
            if call.is_none() && count == 0 {
                continue;
            }
            let average = call.map_or("-".to_owned(), |call| decimal(average(call)));
            writeln!(out, "{name:<44} {average:>12} {count:>14}")?;
        }
        for estimate in &self.estimates {
            writeln!(
                out,
                "estimated round trip of a call, {}, without the host's time: {:.2} us, {:.2} times \
                 that of two flags",
                estimate.bus,
                estimate.total_ns / 1000.0,
                estimate.to_two_flag,
            )?;
        }
        if calls.warp_calls == 0 {
            writeln!(
                out,
                "no estimate: the launch made no call of {}, or the compiler has inlined it; a kernel \
                 counts as a call if its own name is given",
                calls.entry,
            )?;
        }
        Ok(text)
    }
}

impl CountCosts {
    /// A request to print a table of each launch, with the calls of [`ENTRY`].
    #[must_use]
    pub fn printed(print: fn(&str)) -> Self {
        Self {
            entry: ENTRY.to_owned(),
            sink: Arc::new(move |kernel, costs| {
                if let Ok(table) = Report::new(costs).render() {
                    print(&format!("kernel `{kernel}`\n{}", table.trim_end()));
                }
            }),
        }
    }
}

type Row = (&'static str, fn(&Counts) -> u64, fn(&PerCall) -> f64);

/// The rows of the table.
fn rows() -> Vec<Row> {
    /// A row of one field, which both types have.
    macro_rules! row {
        ($name:expr, $($field:tt)*) => {
            {
                let row: Row = ($name, |counts| counts.$($field)*, |call| call.$($field)*);
                row
            }
        };
    }
    macro_rules! traffic {
        ($name:literal, $field:ident) => {
            [
                row!(
                    concat!($name, ", instructions of warps"),
                    $field.instructions
                ),
                row!(concat!($name, ", bytes of lanes"), $field.bytes),
                row!(concat!($name, ", sectors of 32 bytes"), $field.sectors),
                row!(concat!($name, ", lines of 128 bytes"), $field.lines),
                row!(concat!($name, ", transactions"), $field.transactions),
            ]
        };
    }
    let mut rows: Vec<Row> = vec![
        row!("instructions of warps", warp_instructions),
        row!("instructions of lanes", lane_instructions),
    ];
    rows.extend(traffic!("stores to mapped memory", stores));
    rows.extend(traffic!("loads from mapped memory", loads));
    rows.extend(traffic!("polls of mapped memory", polls));
    rows.extend([
        row!(
            "atomics on mapped memory, transactions",
            atomics.transactions
        ) as Row,
        row!("atomics on device memory", device_atomics),
        row!("fences of a block", fences.cta),
        row!("fences of the device", fences.gpu),
        row!("fences of the system", fences.sys),
        row!("of these, waits for stores to mapped memory", store_fences),
        row!("acquires that drop the L1 cache", l1_drops),
        row!("reads that depend on each other", serial_reads),
        row!("polls that depend on each other", serial_polls),
        row!("exchanges with the host", exchanges),
    ]);
    rows
}

/// A number with at most two decimals.
fn decimal(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_that_call_one_after_another_make_one_call_of_their_team() {
        let mut costs = Costs::default();
        costs.calls.warp_calls = 64;
        costs.calls.lane_calls = 64;
        for _ in 0..64 {
            costs.calls.counts.stores.add(&[(0, 4)]);
        }
        let stores = |report: &Report<'_>| {
            let call = report.per_call.expect("there were calls");
            for (bus, estimate) in BUSES.iter().zip(&report.estimates) {
                assert_eq!(estimate.total_ns, bus.estimate(&call).total_ns());
            }
            call.stores.transactions
        };
        assert_eq!(stores(&Report::new(&costs)), 1.0);
        assert_eq!(stores(&Report::per_team(&costs, 32)), 32.0);
    }
}
