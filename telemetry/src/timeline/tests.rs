//! Tests of whole timelines.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use tempfile::TempDir;
use tracing::subscriber::with_default;
use tracing::{Dispatch, debug_span, dispatcher, info, info_span, trace_span};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;

use super::file::TimelineFile;
use super::{layer, only_layer};

/// Runs `act` with a timeline, and returns its records without those about processes and threads.
fn records_of(act: impl FnOnce() + Send) -> Vec<Value> {
    records_by(|file| registry().with(layer(file)).into(), act)
}

/// Runs `act` with a timeline that a subscriber of this kind writes.
fn records_by(
    subscriber: impl FnOnce(&'static TimelineFile) -> Dispatch,
    act: impl FnOnce() + Send,
) -> Vec<Value> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("timeline");
    let file = TimelineFile::new(path.clone());
    // A thread keeps its first file, as a process has one.
    let subscriber = subscriber(file);
    thread::scope(|scope| {
        scope.spawn(|| dispatcher::with_default(&subscriber, act));
    });
    file.end();
    let mut records = read(&path);
    records.retain(|record| record["ph"] != "M");
    records
}

fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn number(record: &Value, name: &str) -> f64 {
    record[name]
        .as_f64()
        .unwrap_or_else(|| panic!("no {name}: {record}"))
}

/// The child's only thread is that which forks. Another one holds the lock of its records then, and never lets go of it
/// in the child.
#[test]
fn a_forked_child_records_nothing() {
    let records = records_by(
        |file| registry().with(layer(file)).into(),
        || {
            let (locked, is_locked) = channel();
            let (unlock, is_over) = channel::<()>();
            info!("not written, see below");
            let records = super::thread::own_records();
            thread::scope(|scope| {
                scope.spawn(move || {
                    records.write(|_| {
                        locked.send(()).unwrap();
                        let _ = is_over.recv();
                    });
                });
                is_locked.recv().unwrap();
                // SAFETY: the child calls this crate and `_exit`; the lock of the allocator is forked unlocked.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    info_span!("child").in_scope(|| info!("child"));
                    // SAFETY: ends the child, without destructors of the parent's.
                    unsafe { libc::_exit(7) }
                }
                assert!(child > 0);
                let until = Instant::now() + Duration::from_secs(30);
                let mut status = 0;
                // SAFETY: a child of this thread, and a place for its status.
                while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
                    if Instant::now() > until {
                        // SAFETY: as above.
                        unsafe { libc::kill(child, libc::SIGKILL) };
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                drop(unlock);
                assert!(libc::WIFEXITED(status), "the child hangs: {status:#x}");
                assert_eq!(libc::WEXITSTATUS(status), 7);
            });
            info!("parent");
        },
    );
    let names: Vec<_> = records.iter().map(|record| &record["name"]).collect();
    assert_eq!(names, ["parent"]);
}

#[test]
fn an_entered_span_is_a_slice_of_its_thread() {
    let records = records_of(|| {
        let outer = info_span!(
            "outer",
            count = 3,
            text = "a \"quoted\" \\ one\n\u{1}",
            yes = true
        );
        let _outer = outer.enter();
        info_span!("inner", otel.name = "renamed").in_scope(|| ());
    });
    let [inner, outer] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(inner["name"], "renamed");
    assert_eq!(outer["name"], "outer");
    assert_eq!(outer["ph"], "X");
    assert_eq!(inner["tid"], outer["tid"]);
    let expected =
        serde_json::json!({"count": 3, "text": "a \"quoted\" \\ one\n\u{1}", "yes": true});
    assert_eq!(outer["args"], expected);
    let end = |record| number(record, "ts") + number(record, "dur");
    assert!(number(outer, "ts") <= number(inner, "ts"), "{records:?}");
    assert!(end(inner) <= end(outer), "{records:?}");
}

#[test]
fn a_span_that_no_thread_enters_is_a_slice_of_its_own() {
    let records = records_of(|| drop(debug_span!("launch", otel.name = "kernel", threads = 4)));
    let [begin, end] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!((&begin["ph"], &end["ph"]), (&"b".into(), &"e".into()));
    assert_eq!(begin["id"], end["id"]);
    assert_eq!(
        (&begin["name"], &end["name"]),
        (&"kernel".into(), &"kernel".into())
    );
    assert_eq!(begin["args"]["threads"], 4);
    assert!(number(begin, "ts") <= number(end, "ts"));
}

#[test]
fn an_arrow_leads_from_the_end_of_a_span_to_the_begin_of_the_next() {
    // The second follows before or after the first has ended.
    for late in [false, true] {
        let records = records_of(|| {
            let (first, second) = (info_span!("first"), info_span!("second"));
            if late {
                first.in_scope(|| thread::sleep(Duration::from_millis(1)));
                second.follows_from(&first);
            } else {
                second.follows_from(&first);
                first.in_scope(|| thread::sleep(Duration::from_millis(1)));
            }
            second.in_scope(|| ());
        });
        let find = |kind: &str| records.iter().find(|record| record["ph"] == kind).unwrap();
        let (from, to) = (find("s"), find("f"));
        assert_eq!(from["id"], to["id"]);
        let id = from["id"].as_str().and_then(|id| id.strip_prefix("0x"));
        let is_number = id.is_some_and(|id| u64::from_str_radix(id, 16).is_ok());
        assert!(is_number, "Perfetto draws no other arrows: {from}");
        let slice = |name: &str| {
            records
                .iter()
                .find(|record| record["name"] == name)
                .unwrap()
        };
        let (first, second) = (slice("first"), slice("second"));
        let end = number(first, "ts") + number(first, "dur");
        // Within the slice, in its last nanosecond. Numbers this large are rounded.
        assert!((number(from, "ts") - end).abs() < 0.01, "{from} {first}");
        assert_eq!(to["ts"], second["ts"]);
        assert_eq!((&from["tid"], &to["tid"]), (&first["tid"], &second["tid"]));
    }
}

#[test]
fn events_are_instants_with_their_message() {
    let records = records_of(|| info!(answer = -42, "a message of {}", 7));
    let [event] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!(
        (&event["ph"], &event["name"]),
        (&"i".into(), &"a message of 7".into())
    );
    assert_eq!(event["args"]["answer"], -42);
}

#[test]
fn spans_are_shown_up_to_debug() {
    let records = records_of(|| {
        trace_span!("trace").in_scope(|| ());
        debug_span!("debug").in_scope(|| ());
    });
    let names: Vec<_> = records.iter().map(|record| &record["name"]).collect();
    assert_eq!(names, ["debug"]);
}

#[test]
fn of_many_calls_some_are_skipped_and_counted() {
    let (skipped, _) = make_many(|file| registry().with(layer(file)).into());
    assert!(skipped > 0);
    let (skipped, disabled) = make_many(|file| registry().with(only_layer(file)).into());
    assert!(skipped > 0 && disabled == skipped);
}

/// Makes many spans of calls. Returns how many were skipped, and how many were not even created.
fn make_many(subscriber: impl FnOnce(&'static TimelineFile) -> Dispatch) -> (usize, usize) {
    // Longer than the time for which spans are counted.
    const TIME: Duration = Duration::from_millis(100);
    let (mut count, mut disabled) = (0, 0);
    let records = records_by(subscriber, || {
        let begin = Instant::now();
        while begin.elapsed() < TIME || count < 20_000 {
            let span = debug_span!(target: "revoff_host::serve", "call");
            span.in_scope(|| ());
            count += 1;
            disabled += usize::from(span.is_disabled());
        }
        // Those that last are all there, and so are spans of others.
        for _ in 0..1000 {
            debug_span!(target: "revoff_host::serve", "launch").in_scope(|| ());
            debug_span!(target: "others", "call", otel.name = "other").in_scope(|| ());
        }
    });
    let of = |name: &str| {
        records
            .iter()
            .filter(|record| record["name"] == *name)
            .count()
    };
    let skipped = records.iter().filter_map(|record| {
        let count = record["name"].as_str()?.strip_suffix(" spans skipped")?;
        count.parse::<usize>().ok()
    });
    let skipped: usize = skipped.sum();
    assert!(of("call") >= 512);
    assert_eq!(of("call") + skipped, count);
    assert_eq!((of("launch"), of("other")), (1000, 1000));
    (skipped, disabled)
}

#[test]
fn the_records_of_all_threads_are_written_and_long_texts_are_cut() {
    let records = records_of(|| {
        let span = info_span!("moved");
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let moved = move || {
            tracing::dispatcher::with_default(&dispatch, || {
                for _ in 0..1000 {
                    span.in_scope(|| ());
                }
            });
        };
        thread::Builder::new()
            .name("other".to_owned())
            .spawn(moved)
            .unwrap()
            .join()
            .unwrap();
        info_span!("here", text = "\u{e4}".repeat(1000)).in_scope(|| ());
    });
    assert_eq!(records.len(), 1001);
    let here = records
        .iter()
        .find(|record| record["name"] == "here")
        .unwrap();
    assert_eq!(here["args"]["text"].as_str().unwrap().len(), 1024);
    assert_ne!(here["tid"], records[0]["tid"]);
}

/// A record as [`TimelineFile::write`] gets it.
const RECORD: &[u8] = b"{},\n";

#[test]
fn a_file_that_is_being_written_stays() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("timeline");
    let open = || {
        let file = TimelineFile::new(path.clone());
        file.open().unwrap();
        file
    };
    let [first, second] = [(); 2].map(|()| open());
    second.write(RECORD);
    first.end();
    second.end();
    assert_eq!(read(&path).len(), 2);
    assert_eq!(read(&folder.path().join("timeline.2")).len(), 3);
    // It has ended, so its name is free.
    let third = open();
    third.write(RECORD);
    third.end();
    assert_eq!(read(&path).len(), 3);
    assert!(!folder.path().join("timeline.3").exists());
}

#[test]
fn the_first_record_replaces_an_earlier_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("timeline");
    let earlier = "[\n{\"ph\":\"M\",\"pid\":1, longer than the new one. ".repeat(100);
    fs::write(&path, &earlier).unwrap();
    let open = || {
        let file = TimelineFile::new(path.clone());
        file.open().unwrap();
        file
    };
    open().end();
    assert_eq!(fs::read_to_string(&path).unwrap(), earlier);
    let idle = open();
    let file = open();
    // A thread keeps its first file, as a process has one.
    thread::scope(|scope| {
        scope.spawn(|| with_default(registry().with(layer(file)), || info!("now")));
    });
    file.end();
    idle.end();
    assert!(read(&path).iter().any(|record| record["name"] == "now"));
}

#[test]
fn a_file_without_records_is_not_created() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("timeline");
    TimelineFile::new(path.clone()).end();
    assert!(!path.exists());
}

#[test]
fn a_file_that_cannot_be_created_is_named() {
    let error = |name: &str| {
        let file = TimelineFile::new(PathBuf::from(name));
        let [first, again] = [(); 2].map(|()| file.open().unwrap_err().to_string());
        assert_eq!(first, again);
        first
    };
    let text = error("/no/such/folder");
    assert!(
        text.starts_with("environment variable REVOFF_TRACE=\"/no/such/folder\": "),
        "{text}"
    );
    assert!(text.contains("No such file"), "{text}");
    // Here there is no room for the beginning already.
    let text = error("/dev/full");
    assert!(
        text.contains("\"/dev/full\"") && text.contains("No space left"),
        "{text}"
    );
    let folder = TempDir::new().unwrap();
    // It has content, but not that of an earlier timeline.
    let text = error(folder.path().to_str().unwrap());
    assert!(text.contains("Is a directory"), "{text}");
    let pipe = folder.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let other = folder.path().join("other");
    fs::write(&other, "[\n{\"precious\": 1}").unwrap();
    let text = error(other.to_str().unwrap());
    assert!(text.contains("it is no timeline"), "{text}");
    assert_eq!(fs::read_to_string(&other).unwrap(), "[\n{\"precious\": 1}");
    let text = error(pipe.to_str().unwrap());
    assert!(text.contains("it is a pipe"), "{text}");
}

#[test]
fn records_of_a_running_program_are_written_within_seconds() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("timeline");
    fs::write(&path, "[\n").unwrap();
    let file = TimelineFile::new(path.clone());
    file.open().unwrap();
    with_default(registry().with(layer(file)), || info!("now"));
    let begin = Instant::now();
    while !fs::read_to_string(&path).unwrap().contains("now") {
        assert!(begin.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn later_values_replace_earlier_ones() {
    let records = records_of(|| {
        let span = info_span!(
            "span",
            progress = 1,
            ratio = 0.5,
            rest = tracing::field::Empty
        );
        span.record("progress", 2);
        span.record("rest", f64::NAN);
        span.in_scope(|| ());
    });
    let expected = serde_json::json!({"progress": 2, "ratio": 0.5, "rest": "NaN"});
    assert_eq!(records[0]["args"], expected);
}
