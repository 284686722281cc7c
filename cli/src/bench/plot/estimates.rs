//! Estimates of calls on the bus, as bars.

use std::path::Path;

use revoff_host::bus_cost::BUSES;

use super::bars::{self, Bars, Group};
use super::page::Head;
use super::{color, write};
use crate::bench::counting::THREADS;
use crate::bench::kinds::CALLS;
use crate::bench::peers::Estimated;

/// The bus of the pictures, among [`BUSES`]; the table has all of them.
const BUS: usize = 1;

/// Draws the estimates of calls on a device, a picture for each kind of call, into the folder `dir`.
pub(crate) fn draw(device: &str, estimated: &[Estimated<'_>], dir: &Path) -> anyhow::Result<()> {
    let bus = &BUSES[BUS];
    for call in CALLS.iter().map(|call| call.name) {
        let of_call = || estimated.iter().filter(|one| one.call == call);
        let mut wires: Vec<&str> = of_call().map(|one| one.wire).collect();
        wires.dedup();
        let groups = wires.into_iter().map(|wire| Group {
            label: wire.to_owned(),
            color: color((wire, "adaptive")),
            times: THREADS.map(|threads| {
                let mut found = of_call().filter(|one| one.wire == wire);
                found
                    .find(|one| one.threads == threads)
                    .and_then(|one| one.ns.get(BUS).copied())
            }),
        });
        let groups = groups.collect();
        let bars = Bars {
            head: Head {
                title: format!("Estimated time of a round trip, {call} call, {}", bus.name),
                subtitle: format!("from accesses that {device} counted"),
                notes: vec![
                    "Estimates, not measurements: no call has been timed on a GPU. The host's own time is \
                     missing."
                        .to_owned(),
                ],
            },
            pair: THREADS.map(|threads| match threads {
                1 => "one thread".to_owned(),
                more => format!("{more} threads together"),
            }),
            groups,
            bounds: vec![(
                "two flags exchanged".to_owned(),
                bus.two_flag().total_ns(),
            )],
        };
        write(dir, format!("estimates-{call}"), bars::draw(&bars)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_the_wires_with_estimates_and_the_caveat() {
        let dir = tempfile::tempdir().unwrap();
        let estimated = |wire, threads, ns| Estimated {
            wire,
            call: "empty",
            threads,
            ns: vec![1.0, ns, 1.0],
        };
        let none = Estimated {
            ns: vec![],
            ..estimated("gcc-slot", 1, 0.0)
        };
        let all = [
            estimated("native", 1, 1921.0),
            estimated("native", 32, 1943.0),
            none,
            estimated("libgomp", 1, 3512.0),
        ];
        draw("emu:sm_90", &all, dir.path()).unwrap();
        let svg = std::fs::read_to_string(dir.path().join("estimates-empty.svg")).unwrap();
        for text in [
            "1.92 us",
            "1.94 us",
            "3.51 us",
            "libgomp",
            "emu:sm_90",
            "not measurements",
        ] {
            assert!(svg.contains(text), "no {text} in {svg}");
        }
        let others = dir.path().join("estimates-typed.svg");
        assert!(!others.exists(), "nothing to draw");
    }
}
