//! Every edge of docs/memory-model.md is taken away, at each of its two ends.
//!
//! A test that takes an end's order away is named after both: `n1_without_host_acquire`.

use std::collections::BTreeSet;
use std::path::Path;

/// Names that the tests of a table's ends must have.
fn ends(table: &str) -> BTreeSet<String> {
    let mut ends = BTreeSet::new();
    for line in table.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, label, first, second, ..] = cells[..] else {
            continue;
        };
        let Some(edge) = label
            .strip_prefix('`')
            .and_then(|rest| rest.strip_suffix('`'))
            .filter(|edge| edge.len() == 2 && edge.ends_with(|c: char| c.is_ascii_digit()))
        else {
            continue;
        };
        let before = ends.len();
        for cell in [first, second] {
            let (side, rest) = cell.split_once(':').unwrap_or((cell, ""));
            let order = [
                ("(release)", "release"),
                ("(acquire)", "acquire"),
                ("then fences", "fence"),
            ];
            let Some((_, order)) = order.iter().find(|(text, _)| rest.contains(text)) else {
                panic!("edge {edge}: an end without its order: {cell}");
            };
            ends.insert(format!("{}_without_{side}_{order}", edge.to_lowercase()));
        }
        assert_eq!(ends.len(), before + 2, "edge {edge} has one end twice");
    }
    ends
}

/// What a test's body takes away: side and order as its name must have them, and
/// the accesses by which it does so.
fn taken_away(body: &str) -> Option<(String, &str)> {
    let (weak, _) = body.split_once("Weak(")?.1.split_once(')')?;
    let mut words = weak.split(',').map(str::trim);
    let side = words.next()?.to_lowercase();
    let access = words.next()?;
    let order = [
        ("Store", "release"),
        ("FetchAnd", "release"),
        ("Load", "acquire"),
        ("FetchOr", "acquire"),
        ("Fence", "fence"),
    ];
    let (_, order) = order.iter().find(|(name, _)| access.starts_with(name))?;
    Some((format!("{side}_{order}"), weak))
}

/// Names of the tests that must panic and take away what their name says, each of
/// them something else.
fn tested(tests: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for test in tests.split("\n#[test]\n#[should_panic(expected").skip(1) {
        let Some((name, rest)) = test
            .split_once("]\nfn ")
            .and_then(|(_, rest)| rest.split_once("() {\n"))
        else {
            continue;
        };
        let body = rest.split("\n}\n").next().unwrap_or_default();
        if let Some((_, end)) = name.split_once("_without_")
            && let Some((is, weak)) = taken_away(body)
            && is == end
            && taken.insert(weak)
        {
            names.insert(name.to_owned());
        }
    }
    names
}

/// Ends whose test is missing.
fn untested(ends: &BTreeSet<String>, tests: &str) -> Vec<String> {
    ends.difference(&tested(tests)).cloned().collect()
}

#[test]
fn each_edge_is_taken_away_at_both_ends() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let ends = ends(&read(&here.join("../../docs/memory-model.md")));
    assert!(!ends.is_empty(), "the table has no rows");
    let tests: String = [
        "bounce",
        "gcc_ring",
        "gcc_slot",
        "gcn_queue",
        "native",
        "panic",
        "wake",
    ]
    .map(|name| read(&here.join(format!("tests/{name}.rs"))))
    .concat();
    assert_eq!(untested(&ends, &tests), [""; 0]);
}

/// Two edges, with the tests of their ends.
const TABLE: &str = "| edge | a | b |\n|---|---|---|\n\
    | `N1` | device: x (release) | host: x (acquire) | system | y |\n\
    | `W1` | device: x, then fences | host: x, then fences | system | y |\n";

fn test(name: &str, weak: &str) -> String {
    format!(
        "\n#[test]\n#[should_panic(expected = \"Causality violation\")]\n\
        fn {name}() {{\n    weak(Weak({weak}, \"x\"));\n}}\n"
    )
}

/// What the check finds when the host's end of `N1` is left to these tests.
fn found(host_end: &str) -> Vec<String> {
    let others = test("n1_without_device_release", "Device, Store")
        + &test("w1_without_device_fence", "Device, Fence")
        + &test("w1_without_host_fence", "Host, Fence");
    untested(&ends(TABLE), &(others + host_end))
}

#[test]
fn an_end_without_its_test_is_found() {
    let right = test("n1_without_host_acquire", "Host, Load");
    let nothing = [""; 0];
    assert_eq!(found(&right), nothing);

    let missing = ["n1_without_host_acquire"];
    assert_eq!(found(""), missing);
    // The other end a second time.
    let other_end = test("n1_without_device_release_again", "Device, Store");
    assert_eq!(found(&other_end), missing);
    // The right name over the other end, or over the host's other order.
    let misnamed = test("n1_without_host_acquire", "Device, Store");
    assert_eq!(found(&misnamed), missing);
    let misnamed = test("n1_without_host_acquire", "Host, Store");
    assert_eq!(found(&misnamed), missing);
    // The right name and end, but of another edge.
    let of_another = test("w1_without_host_acquire", "Host, Load") + &right;
    assert_eq!(found(&of_another), missing);
    // A test that need not panic, and one that does not run.
    let may_pass = right.replace("#[should_panic(expected = \"Causality violation\")]\n", "");
    assert_eq!(found(&may_pass), missing);
    let ignored = right.replace("#[test]\n", "#[test]\n#[ignore]\n");
    assert_eq!(found(&ignored), missing);
}

#[test]
#[should_panic(expected = "edge N1: an end without its order")]
fn an_end_without_its_order_is_found() {
    ends(&TABLE.replace("(acquire)", ""));
}

#[test]
#[should_panic(expected = "edge N1 has one end twice")]
fn a_row_with_one_end_twice_is_found() {
    ends(&TABLE.replace("host: x (acquire)", "device: x (release)"));
}
