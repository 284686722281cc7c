//! The metrics of an example: `REVOFF_METRICS`, alone and beside a timeline.

mod common;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// An example that runs until this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The metrics, if the socket is open.
fn ask(socket: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Waits until each of these metrics has a value that is not 0.
fn wait_for(socket: &Path, metrics: &[&str]) {
    let start = Instant::now();
    loop {
        let answer = ask(socket).unwrap_or_default();
        let has = |metric: &&str| {
            let lines = answer.lines().filter(|line| line.starts_with(*metric));
            lines.into_iter().any(|line| !line.ends_with(" 0"))
        };
        if metrics.iter().all(has) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(100), "{answer}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn counts(timeline: Option<&Path>) {
    let folder = TempDir::new().expect("a folder");
    let socket = folder.path().join("socket");
    let mut command = common::example("heat");
    command
        .args(["--steps=100000000", "--every=100"])
        .env("REVOFF_METRICS", &socket);
    command.envs(timeline.map(|path| ("REVOFF_TRACE", path)));
    let running = Running(command.stdout(Stdio::null()).spawn().expect("it starts"));
    let launches = "revoff_launches_total{device=\"host\",kernel=\"";
    wait_for(
        &socket,
        &[
            launches,
            "revoff_copies_total{",
            "revoff_copied_bytes_total{",
        ],
    );
    drop(running);
}

#[test]
fn launches_and_copies_are_counted() {
    counts(None);
}

#[test]
fn they_are_counted_beside_a_timeline() {
    let folder = TempDir::new().expect("a folder");
    counts(Some(&folder.path().join("timeline.json")));
}

#[test]
fn the_socket_is_gone_with_the_program() {
    let folder = TempDir::new().expect("a folder");
    let socket = folder.path().join("socket");
    let mut command = common::example("digest");
    let found = command
        .arg("Cargo.toml")
        .env("REVOFF_METRICS", &socket)
        .output();
    assert!(found.expect("the example runs").status.success());
    assert!(!socket.exists());
}
