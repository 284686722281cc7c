//! Every edge of docs/memory-model.md is taken away, at both ends.

use std::collections::BTreeSet;
use std::path::Path;

/// Labels of the table's rows, in lower case.
fn edges(table: &str) -> BTreeSet<String> {
    table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .filter(|(label, _)| label.len() == 2 && label.ends_with(|c: char| c.is_ascii_digit()))
        .map(|(label, _)| label.to_lowercase())
        .collect()
}

/// Edges with fewer than two tests that are named after them and must panic.
fn untested(edges: &BTreeSet<String>, tests: &str) -> Vec<String> {
    let count = |edge: &str| {
        let name = format!("fn {edge}_without_");
        let lines: Vec<&str> = tests.lines().collect();
        let is_one = |pair: &&[&str]| {
            pair[0].starts_with("#[should_panic(expected") && pair[1].starts_with(&name)
        };
        lines.windows(2).filter(is_one).count()
    };
    edges
        .iter()
        .filter(|edge| count(edge) < 2)
        .cloned()
        .collect()
}

#[test]
fn each_edge_is_taken_away_at_both_ends() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let edges = edges(&read(&here.join("../../docs/memory-model.md")));
    assert!(!edges.is_empty(), "the table has no rows");
    let tests: String = ["bell", "bounce", "gcc_ring", "gcc_slot", "native"]
        .map(|name| read(&here.join(format!("tests/{name}.rs"))))
        .concat();
    assert_eq!(untested(&edges, &tests), [""; 0]);

    // The check finds what is missing.
    let without_one = tests.replacen("fn n1_without_acquire", "fn other", 1);
    assert_eq!(untested(&edges, &without_one), ["n1"]);
}
