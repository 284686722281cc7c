//! The heap of programs: growth, limit and statistics.

use std::process::Output;

use std_tests::{on, run, shown};

const DEVICES: [&str; 2] = ["host", "emu"];

/// The first piece that a program gets.
const FIRST: u64 = 16 << 20;

/// The numbers that `--heap-stats` prints.
#[derive(Debug, PartialEq, Eq)]
struct Statistics {
    allocations: u64,
    peak_bytes: u64,
    live: u64,
    live_bytes: u64,
    device_bytes: u64,
    growths: u64,
}

/// The numbers in the last lines of the standard error.
fn statistics(output: &Output) -> Statistics {
    let errors = String::from_utf8_lossy(&output.stderr);
    let mut numbers = errors
        .lines()
        .filter(|line| line.starts_with("heap: "))
        .flat_map(|line| line.split(' '))
        .filter_map(|word| word.parse().ok());
    let mut next = || {
        numbers
            .next()
            .unwrap_or_else(|| panic!("{}", shown(output)))
    };
    Statistics {
        allocations: next(),
        peak_bytes: next(),
        live: next(),
        live_bytes: next(),
        device_bytes: next(),
        growths: next(),
    }
}

#[test]
fn a_heap_grows_as_needed() {
    for device in DEVICES {
        for (check, least) in [("heap-grows", 96 << 20), ("heap-grows-at-once", 48 << 20)] {
            let output = run(on(device, &["--heap-stats"]).args(["--", check]));
            assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
            let it = statistics(&output);
            assert!(it.growths >= 2, "{it:?}");
            assert!(it.peak_bytes >= least, "{it:?}");
            // At most about twice what is needed, and what is left of pieces.
            assert!(it.device_bytes > least, "{it:?}");
            assert!(it.device_bytes <= 3 * it.peak_bytes, "{it:?}");
        }
        let output = run(on(device, &["--heap-stats"]).args(["--", "text"]));
        let it = statistics(&output);
        assert_eq!((it.device_bytes, it.growths), (FIRST, 0), "{it:?}");
    }
}

/// Allocations that exceed the limit fail, in several threads at a time, and others succeed.
#[test]
fn a_heap_has_a_limit() {
    for device in DEVICES {
        let output = run(on(device, &["--heap", "40M", "--heap-stats"]).args(["--", "heap-limit"]));
        assert_eq!(output.stdout, b"true\n", "{}", shown(&output));
        let it = statistics(&output);
        assert_eq!(it.device_bytes, 40 << 20, "{it:?}");
        assert!(it.peak_bytes >= 30 << 20, "{it:?}");
        // Nothing failed in the end.
        let note = "note: the program's heap";
        assert!(!shown(&output).contains(note), "{}", shown(&output));
    }
}

#[test]
fn a_heap_that_is_too_small() {
    for device in DEVICES {
        let output = run(on(device, &["--heap", "64K"]).args(["--", "memory"]));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("memory allocation of"), "{errors}");
        let hint = errors.lines().last().unwrap_or_default();
        assert!(hint.starts_with("note: "), "{errors}");
        assert!(
            hint.ends_with("bytes more: --heap limits it to 65536 bytes"),
            "{errors}"
        );
        assert_eq!(output.status.code(), Some(128 + libc::SIGABRT));
    }
}

/// However a program ends, the report has exactly what it leaked.
#[test]
fn leaks_are_counted() {
    let leak = |device, count: &str, end| {
        let output = run(on(device, &["--heap-stats"]).args(["--", "heap-leak", count, end]));
        (output.status.code(), statistics(&output))
    };
    for device in DEVICES {
        for (end, status) in [("return", 0), ("exit", 3), ("panic", 101), ("thread", 101)] {
            let (code, none) = leak(device, "0", end);
            assert_eq!(code, Some(status), "{end} on {device}");
            let (code, some) = leak(device, "37", end);
            assert_eq!(code, Some(status), "{end} on {device}");
            assert_eq!(some.allocations, none.allocations + 37, "{end} on {device}");
            assert_eq!(some.live, none.live + 37, "{end} on {device}");
            assert_eq!(some.live_bytes, none.live_bytes + 3700, "{end} on {device}");
            // The vector of 8000 bytes came first.
            assert!((8000..20_000).contains(&none.peak_bytes), "{none:?}");
        }
    }
}

#[test]
fn statistics_are_printed_only_if_asked_for() {
    let output = run(on("host", &[]).args(["--", "heap-leak", "3", "return"]));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("heap: "), "{errors}");
}
