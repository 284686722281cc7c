//! Ratios of the figures of the wires, the peers and `native`.

use std::fmt::{self, Write};

use revoff_host::bus_cost::BUSES;

use super::LLVM_RPC;
use crate::bench::report::{Calls, ToPeer};
use crate::bench::shape::Shape;

/// The estimated times of a kind of call.
pub(in crate::bench) struct Estimated<'a> {
    pub(in crate::bench) wire: &'a str,
    pub(in crate::bench) call: &'a str,
    pub(in crate::bench) threads: u32,
    /// For each of [`BUSES`]; empty if no call was made.
    pub(in crate::bench) ns: Vec<f64>,
}

/// Writes the estimated time of each wire and peer relative to that of `native`, with the same call
/// and number of threads; nothing without `native`, or if there is nothing else.
pub(in crate::bench) fn cost_ratios(out: &mut String, all: &[Estimated<'_>]) -> fmt::Result {
    let native = |one: &Estimated<'_>| {
        all.iter().find(|other| {
            (other.wire, other.call, other.threads) == ("native", one.call, one.threads)
        })
    };
    let mut is_first = true;
    for one in all.iter().filter(|one| one.wire != "native") {
        let Some(native) = native(one).filter(|native| !native.ns.is_empty()) else {
            continue;
        };
        if std::mem::take(&mut is_first) {
            writeln!(
                out,
                "\nestimated time relative to native's, with the same call and number of threads"
            )?;
            write!(out, "{:<9} {:<11} {:>7}", "wire", "call", "threads")?;
            for bus in &BUSES {
                write!(out, "  {:>24}", bus.name)?;
            }
            writeln!(out)?;
        }
        write!(out, "{:<9} {:<11} {:>7}", one.wire, one.call, one.threads)?;
        for (ns, native) in one.ns.iter().zip(&native.ns) {
            write!(out, "  {:>24.2}", ns / native)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The figures of `native` relative to those of the peers, with the default number of host threads,
/// which is that of the first figure.
pub(in crate::bench) fn native_to_peers(calls: &[Calls]) -> Vec<ToPeer> {
    let usual = calls.first().map(|calls| calls.host_threads);
    let native = |call: &str, grid: Shape| {
        calls.iter().find(|calls| {
            (&*calls.wire, &*calls.call, calls.grid) == ("native", call, grid)
                && Some(calls.host_threads) == usual
        })
    };
    let ratio = |peer: &Calls| {
        let native = native(&peer.call, peer.grid)?;
        Some(ToPeer {
            peer: peer.wire.clone(),
            call: peer.call.clone(),
            grid: peer.grid,
            rate: native.rate.median / peer.rate.median,
            p50: native
                .p50_ns
                .zip(peer.p50_ns)
                .map(|(native, peer)| native as f64 / peer as f64),
        })
    };
    let peers = calls.iter().filter(|calls| calls.wire == LLVM_RPC);
    peers.filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimated(
        wire: &'static str,
        call: &'static str,
        threads: u32,
        ns: f64,
    ) -> Estimated<'static> {
        Estimated {
            wire,
            call,
            threads,
            ns: vec![ns; BUSES.len()],
        }
    }

    #[test]
    fn costs_are_compared_with_the_same_call_of_native() {
        let mut text = String::new();
        let all = [
            estimated("native", "empty", 1, 2.0),
            estimated("native", "empty", 32, 8.0),
            estimated("llvm-rpc", "empty", 1, 3.0),
            estimated("llvm-rpc", "empty", 32, 4.0),
            estimated("llvm-rpc", "typed", 1, 4.0),
        ];
        cost_ratios(&mut text, &all).unwrap();
        let lines: Vec<_> = text.lines().skip(3).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].ends_with(" 1.50") && lines[1].ends_with(" 0.50"),
            "{text}"
        );

        let mut none = String::new();
        cost_ratios(&mut none, &all[2..]).unwrap();
        assert_eq!(none, "");
    }
}
