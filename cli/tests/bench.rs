//! `revoff bench`: its JSON has the fields that docs/bench-json.md says, and no
//! others.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{revoff, run};
use serde_json::Value;

/// The paths of all values, list items as `list[]`, in the notation of the document.
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

/// First column of the document's table.
fn documented() -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/bench-json.md");
    let text = std::fs::read_to_string(&file).expect("docs/bench-json.md");
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(path, _)| path.to_owned()).collect()
}

#[test]
fn json_is_as_documented() {
    let mut command = revoff();
    command
        .args(["bench", "--quick", "--json", "--threads", "1,2"])
        .env("REVOFF_SLOTS", "64");
    let answer: Value = serde_json::from_str(&run(&mut command).answer()).expect("JSON");
    let mut found = BTreeSet::new();
    paths(&answer, "", &mut found);
    assert_eq!(found, documented());

    assert_eq!(answer["schema"], 1);
    assert_eq!(answer["environment"]["REVOFF_SLOTS"], "64");
    assert!(answer["floor"]["p50_ns"].as_u64() > Some(0), "{answer}");
    let calls = answer["calls"].as_array().expect("a list");
    // Three wires and one that waits as the patch does, each with one and two
    // threads, once typed and once with an argument.
    assert_eq!(calls.len(), 4 * 4);
    for call in calls {
        assert!(call["p50_ns"].as_u64() > Some(0), "{call}");
        assert!(call["p99_ns"].as_u64() >= call["p50_ns"].as_u64(), "{call}");
        assert!(call["rate"]["median"].as_f64() > Some(0.0), "{call}");
    }
    let waiting = answer["waiting"].as_array().expect("a list");
    assert_eq!(waiting.len(), 4);
    for quiet in waiting {
        assert!(quiet["cpu_percent"].is_number(), "{quiet}");
        assert_eq!(quiet["pauses"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn the_table_has_what_was_asked_for() {
    let mut command = revoff();
    command.args([
        "bench",
        "--quick",
        "--wires",
        "gcc-slot",
        "--threads",
        "3",
        "--no-pin",
    ]);
    let text = run(&mut command).answer();
    assert!(text.contains("floor: "), "{text}");
    assert!(
        text.contains("gcc-slot") && !text.contains("native"),
        "{text}"
    );
    assert!(!text.contains("pinned to"), "{text}");
}
