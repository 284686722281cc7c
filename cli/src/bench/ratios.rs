//! Ratios of figures of one run.

use super::groups::is_same_state;
use super::report::{Calls, Linked, Ratios, ToEmpty, ToPatched};
use super::session::{ADAPTIVE, PATCHED, waiting_name};
use super::shape::Shape;

/// The figures of one run.
struct Figures<'a>(&'a [Calls]);

impl Figures<'_> {
    /// The figures of a call with this grid on a wire, with the default number of host threads, which
    /// is that of the first figure.
    fn find(&self, wire: &str, waiting: &str, call: &str, grid: Shape) -> Option<&Calls> {
        let usual = self.0.first()?.host_threads;
        self.0.iter().find(|calls| {
            (&*calls.wire, &*calls.waiting, &*calls.call) == (wire, waiting, call)
                && (calls.grid, calls.host_threads) == (grid, usual)
        })
    }

    fn native(&self, call: &str, grid: Shape) -> Option<&Calls> {
        self.find("native", waiting_name(ADAPTIVE), call, grid)
    }

    fn patched(&self, grid: Shape) -> Option<&Calls> {
        self.find("gcc-ring", waiting_name(PATCHED), "empty", grid)
    }
}

fn rate(one: Option<&Calls>, other: Option<&Calls>) -> Option<f64> {
    Some(one?.rate.median / other?.rate.median)
}

/// All ratios whose figures exist.
pub(crate) fn ratios(grids: &[Shape], calls: &[Calls], linked: Option<&Linked>) -> Ratios {
    let figures = Figures(calls);
    let smallest = grids.first().copied().unwrap_or(Shape::ONE);
    let largest = grids.last().copied();
    let at_most = |call| figures.native(call, largest?);
    let slot = || figures.find("gcc-slot", waiting_name(ADAPTIVE), "empty", largest?);
    let p50 = |call| figures.native(call, smallest)?.p50_ns;
    let difference = || Some(p50("tofrom-64")? as i64 - p50("empty")? as i64);
    Ratios {
        native_p50_to_floor: figures
            .native("empty", smallest)
            .and_then(|empty| empty.p50_to_floor),
        native_tofrom_64_minus_empty_ns: difference(),
        native_work_10us_p50_ns: p50("work-10us"),
        largest_grid: largest,
        native_to_gcc_slot_rate: rate(at_most("empty"), slot()),
        native_to_patched_rate: largest
            .and_then(|grid| rate(at_most("empty"), figures.patched(grid))),
        linked_to_unlinked_time: linked.map(|linked| linked.ratio),
    }
}

/// The times of calls on native relative to that of an empty one, with the smallest grid, for each
/// floor at which both were measured.
pub(crate) fn native_to_empty(grids: &[Shape], calls: &[Calls]) -> Vec<ToEmpty> {
    let figures = Figures(calls);
    let smallest = grids.first().copied().unwrap_or(Shape::ONE);
    let Some(empty) = figures.native("empty", smallest) else {
        return Vec::new();
    };
    let mut ratios = Vec::new();
    for call in ["typed", "tofrom-64", "tofrom-4096"] {
        let Some(other) = figures.native(call, smallest) else {
            continue;
        };
        for group in &other.groups {
            let is_same = |floor| is_same_state(floor, group.floor_p50_ns);
            let empty = empty.groups.iter().find(|one| is_same(one.floor_p50_ns));
            if let Some((empty, other)) = empty.and_then(|one| one.p50_ns).zip(group.p50_ns) {
                ratios.push(ToEmpty {
                    call: call.to_owned(),
                    floor_p50_ns: group.floor_p50_ns,
                    p50: other as f64 / empty as f64,
                });
            }
        }
    }
    ratios
}

/// The rate of native relative to that of gcc-ring as patched, by grid.
pub(crate) fn native_to_patched(grids: &[Shape], calls: &[Calls]) -> Vec<ToPatched> {
    let figures = Figures(calls);
    let of = |&grid: &Shape| {
        let rate = rate(figures.native("empty", grid), figures.patched(grid))?;
        Some(ToPatched { grid, rate })
    };
    grids.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::{Group, Rate};

    fn calls(wire: &str, waiting: &str, call: &str, threads: u32, p50_ns: u64, rate: f64) -> Calls {
        Calls {
            wire: wire.to_owned(),
            waiting: waiting.to_owned(),
            call: call.to_owned(),
            bytes: 0,
            grid: Shape { teams: 1, threads },
            host_threads: 8,
            rounds: 1,
            requests: 100,
            rate: Rate {
                median: rate,
                min: rate,
                max: rate,
            },
            p50_ns: Some(p50_ns),
            p99_ns: Some(p50_ns),
            floor_p50_ns: Some(300),
            rate_to_floor: 1.0,
            p50_to_floor: Some(p50_ns as f64 / 300.0),
            groups: vec![Group {
                floor_p50_ns: 300,
                rounds: 1,
                rate: Rate {
                    median: rate,
                    min: rate,
                    max: rate,
                },
                p50_ns: Some(p50_ns),
                p50_to_floor: Some(p50_ns as f64 / 300.0),
            }],
            cores: None,
        }
    }

    #[test]
    fn each_compares_what_it_says() {
        let list = [
            calls("native", "adaptive", "empty", 1, 600, 1e6),
            calls("native", "adaptive", "empty", 8, 900, 8e6),
            calls("native", "adaptive", "tofrom-64", 1, 1000, 1e6),
            calls("native", "adaptive", "work-10us", 1, 10_700, 1e5),
            calls("gcc-slot", "adaptive", "empty", 8, 1, 2e6),
            calls("gcc-ring", "sleep-1us", "empty", 8, 1, 1e5),
        ];
        let grids = [1, 8].map(|threads| Shape { teams: 1, threads });
        let found = ratios(&grids, &list, None);
        assert_eq!(found.native_p50_to_floor, Some(2.0));
        assert_eq!(found.native_tofrom_64_minus_empty_ns, Some(400));
        assert_eq!(found.native_work_10us_p50_ns, Some(10_700));
        assert_eq!(found.native_to_gcc_slot_rate, Some(4.0));
        assert_eq!(found.native_to_patched_rate, Some(80.0));
        assert_eq!(found.linked_to_unlinked_time, None);
        let patched = native_to_patched(&grids, &list);
        assert_eq!((patched.len(), patched[0].grid), (1, grids[1]));
        let to_empty = native_to_empty(&grids, &list);
        assert_eq!((to_empty.len(), &*to_empty[0].call), (1, "tofrom-64"));
        assert!((to_empty[0].p50 - 1000.0 / 600.0).abs() < 1e-9);

        let found = ratios(&grids, &list[4..], None);
        assert_eq!(found.native_p50_to_floor, None);
        assert_eq!(found.native_to_patched_rate, None);
    }
}
