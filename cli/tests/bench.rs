//! `revoff bench`: its JSON report has exactly the fields of docs/bench-json.md, its charts are
//! written, and invalid arguments are refused.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use common::image::link_alone;
use common::{revoff, run, scratch};
use serde_json::Value;

/// The paths of all values in the document's notation, with list items as `list[]`.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) if path == "environment" => {
            assert!(fields.values().all(Value::is_string));
            found.insert("environment.NAME".to_owned());
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                paths(value, &path, found);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items
                .iter()
                .for_each(|item| paths(item, &format!("{path}[]"), found));
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

/// The first column of the document's table.
fn documented() -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/bench-json.md");
    let text = std::fs::read_to_string(&file).expect("docs/bench-json.md");
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(path, _)| path.to_owned()).collect()
}

/// A short run of the benchmark.
fn quick(more: &[&str]) -> Command {
    let mut command = revoff();
    command.args(["bench", "--quick", "--host-threads", "1,2"]);
    command.args(more);
    command
}

#[test]
fn json_is_as_documented() {
    let mut command = quick(&["--json", "--threads", "1,2", "--limit", "3600"]);
    command.env("REVOFF_SLOTS", "64");
    let answer: Value = serde_json::from_str(&run(&mut command).answer()).expect("JSON");
    let mut found = BTreeSet::new();
    paths(&answer, "", &mut found);
    // The items of `failed` are checked by another test.
    assert!(found.remove("failed"), "nothing failed");
    // Another test measures peers.
    assert!(found.remove("native_to_peers"), "no peers");
    let mut documented = documented();
    documented
        .retain(|path| !path.starts_with("failed[]") && !path.starts_with("native_to_peers[]"));
    // These lists are empty if the state of the machine changes in each round.
    found.remove("calls[].groups");
    if found.remove("native_to_empty") {
        documented.retain(|path| !path.starts_with("native_to_empty[]"));
    }
    assert_eq!(found, documented);

    assert_eq!(answer["schema"], 3);
    assert_eq!(answer["environment"]["REVOFF_SLOTS"], "64");
    assert_eq!(answer["floor"]["kind"], "threads");
    assert!(answer["floor"]["p50_ns"].as_u64() > Some(0), "{answer}");
    let calls = answer["calls"].as_array().expect("a list");
    // Three wires, and one that waits as the patch does: one call with one thread, four with
    // one and two. Then one and two host threads instead of eight, with a service that works, and
    // on native also with one that does not.
    assert_eq!(calls.len(), 4 * (1 + 4 * 2) + 4 * 2 + 2);
    for call in calls {
        assert!(call["p50_ns"].as_u64() > Some(0), "{call}");
        assert!(call["p99_ns"].as_u64() >= call["p50_ns"].as_u64(), "{call}");
        assert!(call["rate"]["median"].as_f64() > Some(0.0), "{call}");
    }
    for work in calls.iter().filter(|call| call["call"] == "work-10us") {
        assert!(work["p50_ns"].as_u64() >= Some(10_000), "{work}");
    }
    let ratios = answer["ratios"].as_object().expect("an object");
    assert!(ratios.values().all(|ratio| !ratio.is_null()), "{ratios:?}");
    assert!(answer["linked"]["ratio"].as_f64() > Some(0.1), "{answer}");
    let waiting = answer["waiting"].as_array().expect("a list");
    assert_eq!(waiting.len(), 4);
    for quiet in waiting {
        assert!(quiet["cpu_percent"].is_number(), "{quiet}");
        assert_eq!(quiet["pauses"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn the_table_has_what_was_asked_for() {
    let text = run(&mut quick(&[
        "--wires",
        "gcc-slot",
        "--calls",
        "tofrom-64",
        "--grids",
        "2x3",
        "--no-pin",
        "--floor",
        "kernel",
    ]))
    .answer();
    assert!(text.contains("floor: a kernel and a thread"), "{text}");
    assert!(text.contains("gcc-slot") && text.contains("2x3"), "{text}");
    for absent in ["native ", "empty ", "pinned to"] {
        assert!(!text.contains(absent), "`{absent}` in {text}");
    }
}

#[test]
fn what_cannot_be_measured_is_in_the_report_and_the_rest_too() {
    // Teams that the device does not support.
    let grids = [
        "--wires",
        "native",
        "--calls",
        "typed,work-10us",
        "--grids",
        "1x1,1x2000",
    ];
    let ended = run(quick(&grids).arg("--json"));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("2000 threads"), "{}", ended.stderr);
    let answer: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(answer["calls"].as_array().map(Vec::len), Some(2));
    let mut found = BTreeSet::new();
    paths(&answer["failed"], "failed", &mut found);
    let mut documented = documented();
    documented.retain(|path| path.starts_with("failed[]"));
    assert_eq!(found, documented);

    let ended = run(quick(&grids[..4]).args(["--threads", "1", "--limit", "0"]));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("--limit"), "{}", ended.stderr);
}

#[test]
fn a_peer_is_measured_like_a_wire() {
    let peers = [
        "--peers",
        "--wires",
        "native",
        "--threads",
        "1,2",
        "--limit",
        "3600",
    ];
    let mut command = quick(&peers);
    let answer: Value = serde_json::from_str(&run(command.arg("--json")).answer()).expect("JSON");
    let calls = answer["calls"].as_array().expect("a list");
    let of_peer: Vec<_> = calls
        .iter()
        .filter(|call| call["wire"] == "llvm-rpc")
        .collect();
    // One call with one thread, four with one and two.
    assert_eq!(of_peer.len(), 1 + 4 * 2);
    for call in of_peer {
        assert_eq!(
            (&call["waiting"], &call["host_threads"]),
            (&"spin".into(), &1.into())
        );
        assert!(call["p50_ns"].as_u64() > Some(0), "{call}");
        assert!(call["rate"]["median"].as_f64() > Some(0.0), "{call}");
    }
    let ratios = answer["native_to_peers"].as_array().expect("a list");
    assert_eq!(ratios.len(), 1 + 4 * 2);
    let mut found = BTreeSet::new();
    paths(&answer["native_to_peers"], "native_to_peers", &mut found);
    let mut documented = documented();
    documented.retain(|path| path.starts_with("native_to_peers[]"));
    assert_eq!(found, documented);

    let text = run(&mut quick(
        &[&peers[..4], &["1", "--calls", "empty"]].concat(),
    ))
    .answer();
    assert!(
        text.contains("times the requests/s of llvm-rpc, and takes ") && text.contains("spin"),
        "{text}"
    );
}

#[test]
fn a_kernel_that_never_ends_ends_the_command() {
    let folder = scratch("bench-endless");
    let (source, image) = (folder.join("endless.c"), folder.join("endless.so"));
    std::fs::write(
        &source,
        "void now(void **p) { for (;;) __asm__ volatile(\"\" : : \"r\"(p)); }\n",
    )
    .expect("a file");
    link_alone(&source, &image);
    let command = &mut quick(&["--patience", "1", "--image"]);
    run(command.arg(&image)).failed(1, &["timing nothing", "no progress for 1 s"]);
}

#[test]
fn invalid_values_are_rejected() {
    for grid in ["8", "0x8", "8x0", "8x8x8", "x", "axb", ""] {
        run(&mut quick(&["--grids", grid])).refused(&["--grids", "132x256"]);
    }
    run(&mut quick(&["--grids", "1x1", "--threads", "1"])).refused(&["--threads"]);
    run(&mut quick(&["--threads", "0"])).refused(&["--threads"]);
    run(revoff().args(["bench", "--host-threads", "0"])).refused(&["--host-threads"]);
    run(revoff().args(["bench", "--seconds", "0"])).refused(&["--seconds"]);
    run(&mut quick(&["--calls", "none"])).refused(&["none", "tofrom-4096"]);
    run(&mut quick(&["--wires", "none"])).refused(&["none"]);
    run(&mut quick(&["--floor", "none"])).refused(&["threads, kernel"]);
    for without in [&["--peers"][..], &["--costs"]] {
        let mut command = revoff();
        command.arg("bench").args(without);
        run(command.args(["--gcc-libgomp", "libgomp.a"])).refused(&["--peers", "--costs"]);
    }
    run(&mut quick(&["--device", "none"])).refused(&["none"]);
    run(&mut quick(&["--image", "/nowhere.so"])).refused(&["/nowhere.so"]);
    run(&mut quick(&["--image", "Cargo.toml"])).refused(&["Cargo.toml", "no device image"]);
}

#[test]
fn what_is_no_report_is_refused() {
    let folder = scratch("bench-no-report");
    let file = folder.join("file.json");
    let from = || {
        let mut command = revoff();
        command.args(["bench", "--from"]).arg(&file);
        command
    };
    run(&mut from()).refused(&["file.json", "cannot read"]);
    for (text, word) in [
        ("wire native", "no report"),
        ("[]", "no schema"),
        ("{\"schema\": 2}", "schema 2"),
        ("{\"schema\": 3}", "missing field"),
    ] {
        std::fs::write(&file, text).expect("a file");
        run(&mut from()).refused(&["file.json", word]);
    }
    run(from().arg("--quick")).refused(&["--quick"]);
    run(from().arg("--peers")).refused(&["--peers"]);
}

#[test]
fn pictures_are_drawn_from_a_run_and_from_its_report() {
    let folder = scratch("bench-plot");
    let (now, later, file) = (
        folder.join("a/b"),
        folder.join("c"),
        folder.join("report.json"),
    );
    let mut command = quick(&["--json", "--wires", "native", "--threads", "1,2", "--plot"]);
    let report = run(command.arg(&now)).answer();
    // Fields that `revoff bench` does not write may have any value.
    let report = report.replacen("\"description\": \"", "\"description\": \"<a & b> ", 1);
    std::fs::write(&file, report).expect("a file");
    let mut command = revoff();
    command.args(["bench", "--from"]).arg(&file);
    let text = run(command.arg("--plot").arg(&later)).answer();
    assert!(text.contains("<a & b>"), "{text}");

    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| {
                entry
                    .expect("a file")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    };
    let calls = ["empty", "tofrom-4096", "tofrom-64", "work-10us"];
    let mut expected = vec!["host-threads.svg".to_owned(), "times-typed.svg".to_owned()];
    expected.extend(calls.map(|call| format!("rates-{call}.svg")));
    expected.extend(calls.map(|call| format!("times-{call}.svg")));
    expected.sort();
    assert_eq!(names(&now), expected);
    assert_eq!(names(&later), expected);
    for name in expected {
        let text = std::fs::read_to_string(later.join(&name)).expect("UTF-8");
        well_formed(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert!(text.contains("&lt;a &amp; b&gt;"), "{name}");
    }

    // A warning of the table is in the charts as well.
    let mut report: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).expect("a file")).expect("JSON");
    report["machine"]["others_percent"] = 50.into();
    let calls = report["calls"].as_array_mut().expect("a list");
    let mut other_wire = Vec::new();
    for call in calls.iter_mut().filter(|call| call["call"] == "tofrom-64") {
        let mut other = call.clone();
        other["wire"] = "gcc-slot".into();
        other_wire.push(other);
        call["p50_ns"] = Value::Null;
    }
    calls.extend(other_wire);
    report["failed"] = serde_json::json!([{
        "what": "gcc-ring adaptive, tofrom-64, grid 1x2, 8 host threads", "error": "none"
    }]);
    std::fs::write(&file, report.to_string()).expect("a file");
    let noted = folder.join("d");
    let mut command = revoff();
    command.args(["bench", "--from"]).arg(&file);
    run(command.arg("--plot").arg(&noted)).answer();
    let picture = |name: &str| std::fs::read_to_string(noted.join(name)).expect("UTF-8");
    let failed = "not measured: gcc-ring adaptive, tofrom-64, grid 1x2, 8 host threads";
    for (name, notes) in [
        ("rates-empty.svg", &[][..]),
        ("rates-tofrom-64.svg", &[failed]),
        ("times-tofrom-64.svg", &["no times: native, grid 1x1"]),
        ("host-threads.svg", &[]),
    ] {
        let text = picture(name);
        well_formed(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        for note in [&["other programs used 50 % of a core"], notes].concat() {
            assert!(text.contains(note), "no `{note}` in {name}");
        }
    }
    assert!(!picture("rates-empty.svg").contains("not measured"));
    assert!(!picture("times-tofrom-64.svg").contains("not measured"));

    std::fs::write(now.with_file_name("no-folder"), "").expect("a file");
    let mut command = revoff();
    command.args(["bench", "--from"]).arg(&file);
    let ended = run(command.arg("--plot").arg(now.with_file_name("no-folder")));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("no-folder"), "{}", ended.stderr);
}

/// Whether each tag is closed in order and each `&` begins an entity.
fn well_formed(text: &str) -> Result<(), String> {
    let mut open = Vec::new();
    let mut parts = text.split('<');
    let check = |text: &str| match text.split('&').skip(1).find(|part| {
        let name = part.split(';').next().unwrap_or_default();
        !["amp", "lt", "gt", "quot", "apos"].contains(&name)
    }) {
        Some(part) => Err(format!("`&{part}`")),
        None => Ok(()),
    };
    check(parts.next().unwrap_or_default())?;
    for part in parts {
        let (tag, text) = part
            .split_once('>')
            .ok_or(format!("`<{part}` has no end"))?;
        check(tag)?;
        check(text)?;
        let name = |tag: &str| tag.split_whitespace().next().map(str::to_owned);
        if let Some(closed) = tag.strip_prefix('/') {
            if open.pop() != name(closed) {
                return Err(format!("`<{tag}>` closes nothing"));
            }
        } else if !tag.ends_with('/') && !tag.starts_with(['?', '!']) {
            open.extend(name(tag));
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("{open:?} are not closed"))
    }
}

#[test]
fn what_is_not_well_formed_is_found() {
    assert_eq!(well_formed("<?xml?><a b=\"c\"><d/>x &amp; y</a>"), Ok(()));
    for text in [
        "<a>",
        "<a><b></a>",
        "<a></a></a>",
        "<a>&</a>",
        "<a>&b;</a>",
        "<a",
    ] {
        assert!(well_formed(text).is_err(), "{text}");
    }
}
