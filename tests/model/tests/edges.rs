//! Every edge of docs/memory-model.md has a test per end that removes its order.
//!
//! Such a test is named after the edge, the end and the order: `n1_without_host_acquire`.

use std::collections::BTreeSet;
use std::path::Path;

/// The names of the tests that the table requires.
fn required_tests(table: &str) -> BTreeSet<String> {
    let mut required = BTreeSet::new();
    for line in table.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, label, first, second, ..] = cells[..] else {
            continue;
        };
        let Some(edge) = label
            .strip_prefix('`')
            .and_then(|rest| rest.strip_suffix('`'))
            .filter(|edge| edge.len() == 2 && edge.ends_with(|c: char| c.is_ascii_digit()))
            // Both ends of these are in std, which no model contains: `std_has_no_races` runs them.
            .filter(|edge| !edge.starts_with('T'))
        else {
            continue;
        };
        let before = required.len();
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
            required.insert(format!("{}_without_{side}_{order}", edge.to_lowercase()));
        }
        assert_eq!(required.len(), before + 2, "edge {edge} has one end twice");
    }
    required
}

/// The order that a test's body removes: side and order as in the test's name, and the arguments of
/// `Weak`.
fn removed_order(body: &str) -> Option<(String, &str)> {
    let (weak, _) = body.split_once("Weak(")?.1.split_once(')')?;
    let mut words = weak.split(',').map(str::trim);
    let side = words.next()?.to_lowercase();
    let access = words.next()?;
    let order = [
        ("Store", "release"),
        ("FetchAnd", "release"),
        ("Load", "acquire"),
        ("FetchOr", "acquire"),
        ("ReleaseFence", "release"),
        ("AcquireFence", "acquire"),
        ("Fence", "fence"),
    ];
    let (_, order) = order.iter().find(|(name, _)| access.starts_with(name))?;
    Some((format!("{side}_{order}"), weak))
}

/// The names of the tests that must panic and remove the order in their name. Each order counts
/// once.
fn valid_tests(tests: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut removed = BTreeSet::new();
    for test in tests.split("\n#[test]\n#[should_panic(expected").skip(1) {
        let Some((name, rest)) = test
            .split_once("]\nfn ")
            .and_then(|(_, rest)| rest.split_once("() {\n"))
        else {
            continue;
        };
        let body = rest.split("\n}\n").next().unwrap_or_default();
        if let Some((_, end)) = name.split_once("_without_")
            && let Some((order, weak)) = removed_order(body)
            && order == end
            && removed.insert(weak)
        {
            names.insert(name.to_owned());
        }
    }
    names
}

/// The required tests that are missing.
fn missing_tests(required: &BTreeSet<String>, tests: &str) -> Vec<String> {
    required.difference(&valid_tests(tests)).cloned().collect()
}

#[test]
fn each_edge_has_a_test_per_end() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let required = required_tests(&read(&here.join("../../docs/memory-model.md")));
    assert!(!required.is_empty(), "the table has no rows");
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
    assert_eq!(missing_tests(&required, &tests), [""; 0]);
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

/// The missing tests if only `host_end` tests the host's end of `N1`.
fn missing_with(host_end: &str) -> Vec<String> {
    let others = test("n1_without_device_release", "Device, Store")
        + &test("w1_without_device_fence", "Device, Fence")
        + &test("w1_without_host_fence", "Host, Fence");
    missing_tests(&required_tests(TABLE), &(others + host_end))
}

#[test]
fn a_missing_test_is_reported() {
    let right = test("n1_without_host_acquire", "Host, Load");
    let nothing = [""; 0];
    assert_eq!(missing_with(&right), nothing);

    let missing = ["n1_without_host_acquire"];
    assert_eq!(missing_with(""), missing);
    // A second test of the other end.
    let other_end = test("n1_without_device_release_again", "Device, Store");
    assert_eq!(missing_with(&other_end), missing);
    // The right name on the other end, or on the host's other order.
    let misnamed = test("n1_without_host_acquire", "Device, Store");
    assert_eq!(missing_with(&misnamed), missing);
    let misnamed = test("n1_without_host_acquire", "Host, Store");
    assert_eq!(missing_with(&misnamed), missing);
    // The right name, but an order that a test of another edge removes already.
    let of_another = test("w1_without_host_acquire", "Host, Load") + &right;
    assert_eq!(missing_with(&of_another), missing);
    // A test that may pass, and one that does not run.
    let may_pass = right.replace("#[should_panic(expected = \"Causality violation\")]\n", "");
    assert_eq!(missing_with(&may_pass), missing);
    let ignored = right.replace("#[test]\n", "#[test]\n#[ignore]\n");
    assert_eq!(missing_with(&ignored), missing);
}

#[test]
#[should_panic(expected = "edge N1: an end without its order")]
fn an_end_without_its_order_is_reported() {
    required_tests(&TABLE.replace("(acquire)", ""));
}

#[test]
#[should_panic(expected = "edge N1 has one end twice")]
fn a_row_with_one_end_twice_is_reported() {
    required_tests(&TABLE.replace("host: x (acquire)", "device: x (release)"));
}
