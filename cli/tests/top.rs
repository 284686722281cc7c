//! `revoff top`: shows a running program, and says why it does not.

mod common;

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use std::{fs, thread};

use common::{Ended, revoff, run};

/// A program that makes calls until this is dropped.
struct Running(Child);

impl Running {
    fn new(socket: &Path) -> Self {
        let mut command = revoff();
        let words = "bench --wires native --calls empty --threads 1 --rounds 1 --seconds 4";
        command.args(words.split(' ')).env("REVOFF_METRICS", socket);
        let output = tempfile::tempfile().expect("a file");
        let child = command.stdout(output).spawn().expect("it starts");
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn top(socket: &Path) -> Command {
    let mut command = revoff();
    command.arg("top").arg(socket);
    command
}

/// The output of `revoff top --once` as soon as a function is called.
fn shown(socket: &Path) -> String {
    let start = Instant::now();
    loop {
        let Ended {
            code,
            stdout,
            stderr,
        } = run(top(socket).args(["--once", "--interval", "0.3"]));
        let calls = stdout.lines().find(|line| line.contains(" host "));
        let rate = calls.and_then(|line| line.split_whitespace().nth(2));
        let has_calls = stdout.contains("HOST FUNCTION") && rate.is_some_and(|rate| rate != "0");
        if code == Some(0) && has_calls && stdout.contains("SERVING THREAD") {
            return stdout;
        }
        assert!(
            start.elapsed() < Duration::from_secs(100),
            "{stdout}{stderr}"
        );
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_running_program_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("socket");
    let running = Running::new(&socket);
    let text = shown(&socket);
    let process = format!("process {}", running.0.id());
    for wanted in [
        process.as_str(),
        "HOST FUNCTION",
        "calls/s",
        "KERNEL",
        "SERVING THREAD",
    ] {
        assert!(text.contains(wanted), "no {wanted} in {text}");
    }
    drop(running);
    assert!(socket.exists(), "it was killed");
    run(&mut top(&socket)).refused(&[&format!("REVOFF_METRICS={}", socket.display())]);
}

#[test]
fn what_it_cannot_show_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("socket");
    run(&mut top(&socket)).refused(&[&format!("REVOFF_METRICS={}", socket.display())]);
    for interval in ["0", "x", "-1", "inf", "NaN"] {
        let option = format!("--interval={interval}");
        run(top(&socket).arg(option)).refused(&["--interval", "a number from 0.1 to 3600"]);
    }
    let file = folder.path().join("file");
    fs::write(&file, "").expect("it can be created");
    run(&mut top(&file)).refused(&[&format!("{}: no socket", file.display()), "REVOFF_METRICS"]);
    // Another program's socket.
    let listener = UnixListener::bind(&socket).expect("it can be created");
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let asked = stream.read(&mut [0; 1024]).expect("it asks");
        assert!(asked > 0);
        stream.write_all(b"220 mail\r\n").expect("it listens");
    });
    run(&mut top(&socket)).refused(&["no metrics", "no HTTP answer"]);
    other.join().expect("it has answered");
}
