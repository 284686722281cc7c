//! `revoff soak`: calls on `host`, with launches that are made to fail.

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{revoff, run, scratch};
use serde_json::{Value, json};

#[test]
fn calls_are_complete_and_only_planned_launches_fail() {
    let mut command = revoff();
    // One round: eight launches, of which four are made to fail, each by another fault.
    let words = "soak --seconds 0 --wires native --faults --json";
    let ended = run(command.args(words.split(' ')));
    let report: Value = serde_json::from_str(&ended.answer()).expect("JSON");
    assert_eq!(
        (&report["launches"], &report["planned_failures"]),
        (&8.into(), &4.into())
    );
    assert_eq!(report["unplanned_failures"], 0, "{report}");
    assert_eq!(
        (&report["cycles"], &report["usage_at_first"]),
        (&0.into(), &Value::Null)
    );
    assert_eq!(report["unreached_wires"], json!([]), "{report}");
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

/// One round, of 36: each wire counts once.
#[test]
fn a_short_run_names_the_wires_that_it_has_not_reached() {
    let words = "soak --seconds 0 --wires native,gcc-slot,native,gcc-ring";
    let mut command = revoff();
    let text = run(command.args(words.split(' '))).answer();
    assert!(text.contains(" in 8 launches, on 1 of 36 kinds"), "{text}");
    assert!(
        text.ends_with("; no launch on gcc-slot, gcc-ring\n"),
        "{text}"
    );
    assert!(!text.contains("fail"), "{text}");
    let report = run(command.arg("--json")).answer();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["unreached_wires"], json!(["gcc-slot", "gcc-ring"]));
}

/// A soak of an hour, which launches.
fn begin() -> Child {
    let mut command = revoff();
    command.args(["soak", "--seconds", "3600", "--wires", "native", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the command runs");
    while !launches(&child) {
        thread::sleep(Duration::from_millis(1));
    }
    child
}

fn kill(process: &Child, signal: &str) {
    let mut kill = Command::new("kill");
    kill.args(["-s", signal, &process.id().to_string()]);
    assert!(kill.status().expect("kill runs").success());
}

/// Whether the process has more than one thread.
fn launches(process: &Child) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", process.id()));
    threads.expect("it runs").count() > 1
}

#[test]
fn a_signal_ends_it_with_the_summary() {
    for signal in ["INT", "TERM"] {
        let soak = begin();
        kill(&soak, signal);
        let output = soak.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("a second signal ends it at once"), "{said}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(report["launches"].as_u64() >= Some(8), "{report}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let soak = begin();
    // They arrive together: otherwise it might end before the second one.
    for signal in ["STOP", "INT", "TERM", "CONT"] {
        kill(&soak, signal);
    }
    let output = soak.wait_with_output().expect("it has ended");
    let signal = output.status.signal();
    assert!(
        [Some(libc::SIGINT), Some(libc::SIGTERM)].contains(&signal),
        "{output:?}"
    );
    assert_eq!(output.stdout, b"");
}

#[test]
fn a_launch_that_fails_ends_it_with_the_summary() {
    let image = scratch("soak-trap").join("soak.ptx");
    let kernel = "\
.version 7.0
.target sm_60
.address_size 64
.visible .entry soak(.param .u64 first, .param .u64 messages, .param .u64 ended) { trap; }
";
    fs::write(&image, kernel).expect("written");
    let mut command = revoff();
    command.args(["soak", "--device", "emu", "--json", "--image"]);
    let ended = run(command.arg(image));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("launch 0"), "{}", ended.stderr);
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        (&report["planned_failures"], &report["unplanned_failures"]),
        (&0.into(), &1.into())
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
