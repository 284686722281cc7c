//! Tests of whole metrics. Their spans have the names of host-rt's.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::with_default;
use tracing::{debug_span, info_span};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;

use super::socket::MAX_CLIENTS;
use super::{Metrics, layer};

/// Metrics on a new socket.
fn metrics(folder: &TempDir) -> &'static Metrics {
    let metrics = Metrics::new(folder.path().join("socket"));
    metrics.open().unwrap();
    metrics
}

/// Sends a request; returns the answer.
fn ask(path: &Path, request: &[u8]) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.write_all(request)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The lines of the metrics.
fn lines(metrics: &Metrics) -> Vec<String> {
    let answer = ask(metrics.path(), b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let (head, text) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
    assert!(
        head.contains(&format!("Content-Length: {}", text.len())),
        "{head}"
    );
    assert!(text.ends_with("# EOF\n"), "{text}");
    text.lines().map(str::to_owned).collect()
}

#[track_caller]
fn assert_has(lines: &[String], wanted: &str) {
    assert!(
        lines.iter().any(|line| line == wanted),
        "no {wanted} in {lines:#?}"
    );
}

#[test]
fn what_runs_and_what_has_ended_is_counted() {
    let folder = TempDir::new().unwrap();
    let metrics = metrics(&folder);
    with_default(registry().with(layer(metrics)), || {
        let launch =
            debug_span!(target: "revoff_host::test", "launch", otel.name = "kernel", device = "d");
        let call =
            || debug_span!(target: "revoff_host::test", "call", otel.name = "f", device = "d");
        call().in_scope(|| thread::sleep(Duration::from_millis(3)));
        for bytes in [10usize, 20] {
            debug_span!(target: "revoff_host::test", "copy", otel.name = "copy on device", bytes)
                .in_scope(|| ());
        }
        // Spans of others.
        info_span!("call", otel.name = "other").in_scope(|| ());
        info_span!(target: "revoff_host::test", "task", otel.name = "other").in_scope(|| ());

        let open = call();
        let _entered = open.enter();
        let found = lines(metrics);
        let labels = r#"{device="d",function="f"}"#;
        assert_has(&found, &format!("revoff_calls_running{labels} 1"));
        assert_has(&found, &format!("revoff_call_seconds_count{labels} 1"));
        let le = |bound: &str| {
            format!("revoff_call_seconds_bucket{{le=\"{bound}\",device=\"d\",function=\"f\"}}")
        };
        assert_has(&found, &format!("{} 0", le("0.002048")));
        assert_has(&found, &format!("{} 1", le("+Inf")));
        let labels = r#"{device="d",kernel="kernel"}"#;
        assert_has(&found, &format!("revoff_launches_total{labels} 1"));
        assert_has(&found, &format!("revoff_launches_running{labels} 1"));
        let labels = r#"{direction="copy on device"}"#;
        assert_has(&found, &format!("revoff_copies_total{labels} 2"));
        assert_has(&found, &format!("revoff_copied_bytes_total{labels} 30"));
        let of_this_thread = |name: &str, value: &str| {
            let name = format!("revoff_{name}{{thread=\"metrics::tests::");
            let line = found.iter().find(|line| line.starts_with(&name));
            assert!(
                line.is_some_and(|line| line.ends_with(value)),
                "{name}: {line:?}"
            );
        };
        of_this_thread("thread_calls_total", " 1");
        of_this_thread("thread_serving", " 1");
        assert!(
            !found.iter().any(|line| line.contains("other")),
            "{found:#?}"
        );
        drop(launch);
    });
    let found = lines(metrics);
    assert_has(
        &found,
        r#"revoff_launches_running{device="d",kernel="kernel"} 0"#,
    );
    assert_has(
        &found,
        r#"revoff_call_seconds_count{device="d",function="f"} 2"#,
    );
}

/// As serving threads end when there is nothing to serve.
#[test]
fn the_metrics_of_a_thread_end_with_it() {
    let folder = TempDir::new().unwrap();
    let metrics = metrics(&folder);
    let of_the_thread =
        |lines: &[String]| lines.iter().filter(|line| line.contains("short")).count();
    let serve = move || {
        with_default(registry().with(layer(metrics)), || {
            let span =
                debug_span!(target: "revoff_host::test", "call", otel.name = "f", device = "d");
            span.in_scope(|| ());
            assert_eq!(of_the_thread(&lines(metrics)), 3);
        });
    };
    let thread = thread::Builder::new().name("short".to_owned());
    thread.spawn(serve).unwrap().join().unwrap();
    assert_eq!(of_the_thread(&lines(metrics)), 0);
}

#[test]
fn clients_that_misbehave_do_not_stop_it() {
    let folder = TempDir::new().unwrap();
    let metrics = metrics(&folder);
    // One that is gone, one that says nothing, one that says too much.
    drop(UnixStream::connect(metrics.path()).unwrap());
    let mut gone = UnixStream::connect(metrics.path()).unwrap();
    gone.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    drop(gone);
    let _silent = UnixStream::connect(metrics.path()).unwrap();
    let answer = ask(metrics.path(), &[b'x'; 9 << 10]);
    assert!(answer.is_err() || answer.unwrap().starts_with("HTTP/1.0 431 "));
    lines(metrics);
}

#[test]
fn a_silent_client_keeps_its_connection_and_delays_no_other() {
    let folder = TempDir::new().unwrap();
    let metrics = metrics(&folder);
    let mut silent = UnixStream::connect(metrics.path()).unwrap();
    lines(metrics);
    silent.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    silent.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("# EOF\n"), "{answer}");
}

#[test]
fn many_silent_clients_end_the_oldest_connection() {
    let folder = TempDir::new().unwrap();
    let metrics = metrics(&folder);
    let connect = || UnixStream::connect(metrics.path()).unwrap();
    let mut oldest = connect();
    let _others: Vec<_> = (0..MAX_CLIENTS).map(|_| connect()).collect();
    assert_eq!(oldest.read(&mut [0]).unwrap(), 0);
    lines(metrics);
}

#[test]
fn a_socket_that_nobody_serves_is_replaced_and_no_other_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    let first = Metrics::new(path.clone());
    first.open().unwrap();
    first.open().expect("it is open");
    lines(first);
    // A second one gets another name.
    Metrics::new(path.clone()).open().unwrap();
    let text = ask(
        &folder.path().join("socket.2"),
        b"GET /metrics HTTP/1.1\r\n\r\n",
    )
    .unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    lines(first);

    let long = folder.path().join("x".repeat(107));
    let error = Metrics::new(long).open().unwrap_err().to_string();
    assert!(error.contains("of sockets at most 107"), "{error}");
    let path = folder.path().join("file");
    fs::write(&path, "precious").unwrap();
    let error = Metrics::new(path.clone()).open().unwrap_err().to_string();
    assert!(
        error.contains("REVOFF_METRICS=") && error.contains("in use"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    let error = Metrics::new("/no/such/folder".into())
        .open()
        .unwrap_err()
        .to_string();
    assert!(error.contains("No such file"), "{error}");
}

/// Names of functions are the program's.
#[test]
fn names_are_escaped() {
    let folder = TempDir::new().unwrap();
    let metrics = metrics(&folder);
    with_default(registry().with(layer(metrics)), || {
        let name = "a \"b\" \\ {c}\n";
        debug_span!(target: "revoff_host::test", "call", otel.name = name, device = "d")
            .in_scope(|| ());
    });
    let found = lines(metrics);
    assert_has(
        &found,
        r#"revoff_call_seconds_count{device="d",function="a \"b\" \\ {c}\n"} 1"#,
    );
}

/// As host-rt's queues ask whether they should make spans.
#[test]
fn the_level_is_debug() {
    let folder = TempDir::new().unwrap();
    let metrics = metrics(&folder);
    with_default(registry().with(layer(metrics)), || {
        assert_eq!(LevelFilter::current(), LevelFilter::DEBUG);
    });
}
