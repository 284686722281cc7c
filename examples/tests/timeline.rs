//! The timelines of examples: `REVOFF_TRACE`.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

fn run(example: &str, args: &[&str], timeline: &Path) -> Output {
    let mut command = common::example(example);
    command.args(args).env("REVOFF_TRACE", timeline);
    command.output().expect("the example runs")
}

/// Runs an example to its end; returns the records of its timeline.
fn records_of(example: &str, args: &[&str]) -> Vec<Value> {
    let folder = TempDir::new().expect("a folder");
    let timeline = folder.path().join("timeline.json");
    let found = run(example, args, &timeline);
    assert!(found.status.success(), "{found:?}");
    let text = fs::read_to_string(timeline).expect("there is a timeline");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The records with these values.
fn find<'r>(records: &'r [Value], values: &[(&str, &str)]) -> Vec<&'r Value> {
    let has = |record: &&Value| values.iter().all(|(key, value)| record[key] == *value);
    records.iter().filter(has).collect()
}

#[test]
fn calls_launches_and_threads_are_there() {
    let records = records_of("digest", &["Cargo.toml"]);
    let calls = find(&records, &[("ph", "X"), ("name", "read_chunk")]);
    assert!(!calls.is_empty(), "{records:?}");
    let launches = find(&records, &[("ph", "b"), ("name", "digest")]);
    let [launch] = &launches[..] else {
        panic!("{records:?}")
    };
    assert_eq!(launch["args"]["device"], "host");
    assert_eq!(find(&records, &[("ph", "e"), ("name", "digest")]).len(), 1);
    let threads = find(&records, &[("ph", "M"), ("name", "thread_name")]);
    for call in calls {
        assert_eq!(call["args"]["launch"], launch["args"]["launch"]);
        let place = [&call["args"]["slot"], &call["args"]["lane"]];
        assert!(place.iter().all(|number| number.is_u64()), "{call}");
        let serves = |thread: &&Value| thread["tid"] == call["tid"];
        assert!(threads.iter().any(serves), "{records:?}");
    }
    let waits = find(&records, &[("ph", "X"), ("name", "wait for kernel")]);
    assert!(!waits.is_empty(), "{records:?}");
}

#[test]
fn tasks_and_copies_are_there() {
    let records = records_of("heat", &["--steps=4", "--every=2", "--blocks=2"]);
    let copies = find(&records, &[("ph", "X"), ("name", "copy from device")]);
    assert!(!copies.is_empty(), "{records:?}");
    assert!(copies.iter().all(|copy| copy["args"]["bytes"] == 8000));
    // Two blocks, four steps.
    let launches = find(&records, &[("ph", "b"), ("name", "flow")]);
    assert_eq!(launches.len(), 8, "{records:?}");
    let lines = find(&records, &[("ph", "X"), ("name", "task `line of step 4`")]);
    assert_eq!(lines.len(), 1, "{records:?}");
    // How many tasks still run when others that depend on them are spawned differs.
    let begins = find(&records, &[("ph", "s")]);
    let ends = find(&records, &[("ph", "f")]);
    assert_eq!(begins.len(), ends.len(), "{records:?}");
    for end in ends {
        let begin = begins.iter().filter(|begin| begin["id"] == end["id"]);
        assert_eq!(begin.count(), 1, "{end}");
    }
}

#[test]
fn processes_have_files_of_their_own() {
    let folder = TempDir::new().expect("a folder");
    let timeline = folder.path().join("%p.json");
    for _ in 0..2 {
        let found = run("digest", &["Cargo.toml"], &timeline);
        assert!(found.status.success(), "{found:?}");
    }
    let files = fs::read_dir(folder.path()).expect("a folder");
    assert_eq!(files.count(), 2);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    const ABSENT: (&str, &str) = ("/no/such/folder/file", "No such file or directory");
    const FULL: (&str, &str) = ("/dev/full", "No space left on device");
    for (example, args, (file, reason)) in [
        ("digest", &["Cargo.toml"][..], ABSENT),
        ("heat", &[], ABSENT),
        ("heat", &[], FULL),
    ] {
        let found = run(example, args, Path::new(file));
        assert!(!found.status.success(), "{found:?}");
        let text = String::from_utf8_lossy(&found.stderr);
        let expected =
            format!("environment variable REVOFF_TRACE={file:?}: it cannot be created ({reason}");
        assert!(text.contains(&expected), "{text}");
    }
}
