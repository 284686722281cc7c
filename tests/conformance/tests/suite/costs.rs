//! Operations on the bus for a call, counted by emulated GPUs: figures that a change of a wire should
//! lower, and must not raise.

use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use conformance::Target;
use conformance_calls::Nothing;
use revoff_host::Functions;
use revoff_host::bus_cost::{Costs, CountCosts, ENTRY};
use revoff_host::shared_abi::wire::WireKind;

use crate::session::{Session, read};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[test!(a_call_on_the_bus)
    .only(|target| target.counts_costs() && target.wire == WireKind::NATIVE)];

const KERNEL: &str = "call_nothing";

/// The counts of `threads` that each call once, without arguments. The host takes so long that they
/// poll several times, without which polls count as other reads.
fn costs(target: &Target, threads: u32) -> Costs {
    let counted = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&counted);
    let builder = target.builder().costs(CountCosts {
        entry: ENTRY.to_owned(),
        sink: Arc::new(move |kernel, costs| {
            assert_eq!(kernel, KERNEL);
            *sink.lock().unwrap() = Some(costs.clone());
        }),
    });
    let mut functions = Functions::new();
    let slow = || sleep(Duration::from_millis(50));
    functions.add(Nothing::bind(slow)).unwrap();
    let session = Session::build(target, builder, &functions);
    let done = session.zeroed::<u32>(threads as usize);
    session.run(KERNEL, (1, threads), &[&done]).unwrap();
    assert_eq!(read::<u32>(&done), vec![1; threads as usize]);
    counted.lock().unwrap().take().expect("it was counted")
}

/// A typed call has one argument, for its result, which its slot carries.
fn a_call_on_the_bus(target: &Target) {
    for threads in [1, 32] {
        let costs = costs(target, threads);
        let calls = &costs.calls;
        assert_eq!((calls.warp_calls, calls.lane_calls), (1, threads.into()));
        let counts = &calls.counts;
        // Two rows of header and three of the argument, each a burst of 16 bytes a lane.
        let expected = 5 * u64::from(threads * 16).div_ceil(128);
        assert_eq!(counts.stores.transactions, expected, "{counts:?}");
        assert_eq!(counts.atomics.instructions, 0);
        assert_eq!(counts.exchanges, 1, "{counts:?}");
        assert_eq!(counts.device_atomics, 2, "claim and release");
        // Independent lanes return when their replies come, several at once or one by one.
        if threads == 1 || target.runs_in_lock_step() {
            // The row of the result: the status comes with the poll.
            assert_eq!(counts.serial_reads, 1, "{counts:?}");
        }
        assert_eq!(counts.fences.sys, 0, "{counts:?}");
        assert!(costs.launch.warp_instructions > counts.warp_instructions);
    }
}
