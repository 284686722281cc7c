//! `revoff soak`: calls on `host`, with launches that are made to fail.

mod common;

use common::{revoff, run};
use serde_json::Value;

#[test]
fn calls_are_complete_and_only_planned_launches_fail() {
    let mut command = revoff();
    // One round: eight launches, of which four are made to fail, each by another fault.
    let words = "soak --seconds 0 --wires native --faults --json";
    let ended = run(command.args(words.split(' ')));
    let report: Value = serde_json::from_str(&ended.answer()).expect("JSON");
    assert_eq!(
        (&report["launches"], &report["failed"]),
        (&8.into(), &4.into())
    );
    assert_eq!(
        (&report["kinds"], &report["all_kinds"]),
        (&1.into(), &12.into())
    );
    for fault in ["lost", "doubled", "wrong"] {
        assert_eq!(report[fault], 0, "{report}");
    }
    // 32 threads make 200 each in the four others.
    assert!(report["calls"].as_u64() >= Some(4 * 32 * 200), "{report}");
    assert!(
        report["usage_at_last"]["resident_bytes"].as_u64() > Some(1 << 20),
        "{report}"
    );
}

#[test]
fn faults_need_a_wire_that_reports_them() {
    let mut command = revoff();
    run(command.args(["soak", "--faults", "--wires", "gcc-ring"]))
        .refused(&["--faults", "--wires"]);
}

#[test]
fn a_device_without_kernels_is_an_error() {
    let mut command = revoff();
    run(command.args(["soak", "--device", "emu:sm_70"])).refused(&["emu", "--image"]);
}
