//! The selection of figures: those that readers compare, not every combination of call, grid, wire and
//! number of host threads.

use std::fmt;
use std::time::Duration;

use revoff_host::Waiting;
use revoff_host::shared_abi::wire::WireKind;
use revoff_host::targets::count::Count;

use super::kinds::Call;
use super::session::{ADAPTIVE, PATCHED, Setup, waiting_name, warm_up};
use super::shape::Shape;

/// Device threads that keep any number of host threads busy.
const BUSY: u64 = 256;

/// A figure to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) setup: Setup,
    pub(crate) call: &'static Call,
    pub(crate) grid: Shape,
    pub(crate) host_threads: usize,
}

impl Item {
    pub(crate) fn wire(&self) -> &'static str {
        self.setup.name()
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}, {}, grid {}, {}",
            self.wire(),
            self.setup.waiting_name(),
            self.call.name,
            self.grid,
            Count(self.host_threads as u64, "host thread"),
        )
    }
}

/// The dimensions of the figures.
pub(crate) struct Wanted {
    pub(crate) wires: Vec<WireKind>,
    /// Whether the peers are wanted, too.
    pub(crate) peers: bool,
    pub(crate) calls: Vec<&'static Call>,
    /// From the smallest to the largest, at least one.
    pub(crate) grids: Vec<Shape>,
    pub(crate) host_threads: Vec<usize>,
    /// The default number of host threads.
    pub(crate) usual_threads: usize,
}

/// The wires with their ways of waiting, each once.
pub(crate) fn setups(wires: &[WireKind]) -> Vec<Setup> {
    let with = |waiting: Waiting| move |&wire: &WireKind| Setup::Wire { wire, waiting };
    let mut setups: Vec<Setup> = wires.iter().map(with(ADAPTIVE)).collect();
    let rings = wires.iter().filter(|&&wire| wire == WireKind::GCC_RING);
    setups.extend(rings.map(with(PATCHED)));
    let mut once: Vec<Setup> = Vec::new();
    for setup in setups {
        if !once.contains(&setup) {
            once.push(setup);
        }
    }
    once
}

/// The figures, each once.
pub(crate) fn plan(wanted: &Wanted) -> Vec<Item> {
    let (Some(&smallest), Some(&largest)) = (wanted.grids.first(), wanted.grids.last()) else {
        return Vec::new();
    };
    let busy = wanted
        .grids
        .iter()
        .find(|grid| grid.device_threads() >= BUSY);
    let busy = *busy.unwrap_or(&largest);
    let mut items: Vec<Item> = Vec::new();
    let peer = wanted.peers.then_some(Setup::LlvmRpc);
    for setup in setups(&wanted.wires).into_iter().chain(peer) {
        let is_native = setup.is_on(WireKind::NATIVE);
        let is_peer = Some(setup) == peer;
        for &call in &wanted.calls {
            let mut add = |grid, host_threads| {
                let item = Item {
                    setup,
                    call,
                    grid,
                    host_threads,
                };
                if items.contains(&item) {
                    return;
                }
                // A peer's figure follows that of native with which it is compared, so that the
                // machine is in the same state.
                let follows = |native: &Item| {
                    let Item {
                        setup,
                        host_threads,
                        ..
                    } = *native;
                    setup.is_on(WireKind::NATIVE)
                        && host_threads == wanted.usual_threads
                        && (native.call, native.grid) == (call, grid)
                };
                match items.iter().position(follows).filter(|_| is_peer) {
                    Some(native) => items.insert(native + 1, item),
                    None => items.push(item),
                }
            };
            for &grid in &wanted.grids {
                let is_wanted = match call.name {
                    "empty" => true,
                    "typed" => grid == smallest,
                    _ => is_native || grid == smallest || grid == largest,
                };
                if is_wanted {
                    add(grid, if is_peer { 1 } else { wanted.usual_threads });
                }
            }
            if is_peer {
                // One thread serves all its calls.
            } else if call.name == "work-10us" || call.name == "empty" && is_native {
                for &threads in &wanted.host_threads {
                    add(busy, threads);
                }
                // The default is one of them.
                add(busy, wanted.usual_threads);
            }
        }
    }
    items
}

/// The approximate time to measure these figures.
pub(crate) fn estimate(items: &[Item], rounds: u32, time: Duration) -> Duration {
    /// The time to make a runtime, load an image, start kernels and read their results.
    const AROUND: Duration = Duration::from_millis(30);
    let of_one = |item: &Item| {
        // A kernel ends when each thread's last call is over.
        let call = if item.setup.waiting_name() == waiting_name(PATCHED) {
            Duration::from_micros(75)
        } else if item.call.name == "work-10us" {
            Duration::from_micros(12)
        } else {
            Duration::from_micros(3)
        };
        AROUND + 2 * (warm_up(item.grid) + time + call * item.grid.device_threads() as u32)
    };
    items.iter().map(of_one).sum::<Duration>() * rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::kinds::CALLS;

    fn wanted(grids: &[&str]) -> Wanted {
        Wanted {
            wires: vec![WireKind::NATIVE, WireKind::GCC_RING, WireKind::GCC_SLOT],
            peers: true,
            calls: CALLS.iter().collect(),
            grids: grids.iter().map(|grid| grid.parse().unwrap()).collect(),
            host_threads: vec![1, 2, 4, 8, 16],
            usual_threads: 8,
        }
    }

    #[test]
    fn what_is_compared_is_there_once() {
        let wanted = wanted(&["1x1", "1x32", "8x32", "132x256"]);
        let items = plan(&wanted);
        let count = |is: &dyn Fn(&Item) -> bool| items.iter().filter(|item| is(item)).count();
        for (index, item) in items.iter().enumerate() {
            assert!(!items[..index].contains(item), "{item} is there twice");
        }
        for setup in setups(&wanted.wires) {
            let of = |call: &'static str| {
                count(&|item| {
                    item.setup == setup && item.call.name == call && item.host_threads == 8
                })
            };
            assert_eq!((of("empty"), of("typed")), (4, 1));
            assert!(of("tofrom-64") >= 2 && of("work-10us") >= 2);
            let work = |item: &Item| {
                item.setup == setup
                    && item.call.name == "work-10us"
                    && item.grid.to_string() == "8x32"
            };
            assert_eq!(count(&work), 5);
        }
        let of_peer = |call: &'static str| {
            count(&|item| item.setup == Setup::LlvmRpc && item.call.name == call)
        };
        assert_eq!((of_peer("empty"), of_peer("typed")), (4, 1));
        for pair in items.windows(2) {
            if pair[1].setup == Setup::LlvmRpc {
                let [native, peer] = pair else { continue };
                assert_eq!((native.call, native.grid), (peer.call, peer.grid));
            }
        }
        assert_eq!((of_peer("tofrom-64"), of_peer("work-10us")), (2, 2));
    }

    #[test]
    fn a_run_on_a_gpu_takes_some_minutes_at_most() {
        let items = plan(&wanted(&["1x1", "1x32", "8x32", "132x32", "132x256"]));
        let time = estimate(&items, 3, Duration::from_millis(100));
        assert!(time < Duration::from_secs(200), "{time:?}");
        assert!(time > Duration::from_secs(20), "{time:?}");
    }
}
