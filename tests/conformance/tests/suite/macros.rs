//! The macros of `std` in kernels: printing, on both streams, and assertions.

use std::collections::BTreeMap;

use conformance::Target;
use conformance::captured::Captured;

use crate::session::{Session, acting};
use crate::{Test, test};

pub(crate) const TESTS: &[Test] = &[
    test!(lines_stay_whole).alone(),
    test!(a_text_that_no_piece_is_kept_of_is_complete)
        .alone()
        .only(Target::is_host),
    test!(macros_print_like_std).alone(),
    test!(failed_assertions_are_reported)
        .alone()
        .only(Target::survives_faults),
];

fn session(target: &Target) -> Session {
    Session::new(target, &acting(|what| what))
}

/// The text of `words` words that thread `me` prints.
pub(crate) fn long(me: u32, words: u32) -> String {
    (0..words).map(|n| format!("{n}€{me}💾")).collect()
}

/// In each stream, the lines of each thread are those that it has printed, in order.
fn lines_stay_whole(target: &Target) {
    let session = session(target);
    for (grid, rounds, words) in [((1, 1), 2, 300), ((2, 40), 3, 40)] {
        let (output, errors) = (Captured::begin(), Captured::begin_errors());
        let result = session.run("print_lines", grid, &[&rounds, &words]);
        let streams = [output.lines(), errors.lines()];
        drop((output, errors));
        result.unwrap();
        for lines in streams {
            let mut by_thread = BTreeMap::<u32, Vec<String>>::new();
            for line in lines {
                let me = line.split(' ').nth(1).and_then(|me| me.parse().ok());
                let me = me.unwrap_or_else(|| panic!("{line}"));
                by_thread.entry(me).or_default().push(line);
            }
            assert_eq!(by_thread.len() as u32, grid.0 * grid.1);
            for (me, lines) in by_thread {
                let expected = (0..rounds).flat_map(|round| {
                    let long = format!("long {me} {round} {}", long(me, words));
                    [format!("short {me} {round}"), long]
                });
                assert_eq!(lines, expected.collect::<Vec<_>>());
            }
        }
    }
}

/// The host keeps 1 MiB of pieces.
fn a_text_that_no_piece_is_kept_of_is_complete(target: &Target) {
    let words = 160_000;
    let line = format!("long 0 0 {}", long(0, words));
    assert!(line.len() > 2 << 20);
    let session = session(target);
    let captured = Captured::begin();
    let errors = Captured::begin_errors();
    let result = session.run("print_lines", (1, 1), &[&1u32, &words]);
    let lines = [captured.lines(), errors.lines()];
    drop((captured, errors));
    result.unwrap();
    let expected = ["short 0 0".to_owned(), line];
    // Without the lines themselves, which are too long to read.
    assert!(lines[0] == expected, "{:?}", lines[0].len());
    assert!(lines[1] == expected, "{:?}", lines[1].len());
}

fn macros_print_like_std(target: &Target) {
    let session = session(target);
    let (output, errors) = (Captured::begin(), Captured::begin_errors());
    let result = session.run("print_by_macros", (1, 1), &[&21u32]);
    let (output, errors) = (output.bytes(), errors.lines());
    result.unwrap();
    assert_eq!(
        String::from_utf8(output).unwrap(),
        "a constant,   21, Some(1.5), \na line\n43 two\n"
    );
    let [hex, place, doubled, one, two] = &errors[..] else {
        panic!("{errors:?}")
    };
    assert_eq!(hex, "an error of 0x15");
    let is_at = |line: &str| line.starts_with('[') && line.contains("src/print.rs:");
    assert!(is_at(place) && place.ends_with(":5]"), "{place}");
    for (line, value) in [
        (doubled, "number * 2 = 42"),
        (one, "doubled = 43"),
        (two, "\"two\" = \"two\""),
    ] {
        assert!(is_at(line) && line.ends_with(value), "{line}");
    }
}

fn failed_assertions_are_reported(target: &Target) {
    for (which, words) in [
        (0, vec!["assertion failed: me != victim"]),
        (1, vec!["thread 5 is 0€5💾1€5💾2€5💾"]),
        (
            2,
            vec![
                "assertion `left == right` failed: of 2",
                "  left: 6",
                " right: 5",
            ],
        ),
        (
            3,
            vec!["assertion `left != right` failed", "  left: 5", " right: 5"],
        ),
    ] {
        let session = session(target);
        let captured = Captured::begin_errors();
        let result = session.run("fail", (2, 4), &[&5u32, &(which as u32)]);
        let printed = String::from_utf8(captured.bytes()).unwrap();
        drop(captured);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("src/print.rs:"), "{error}");
        let report = if target.is_host() { &error } else { &printed };
        assert!(report.contains("thread 1 of team 1: "), "{report}");
        for words in words {
            assert!(report.contains(words), "{report}");
        }
    }
}
