//! Processes with a time limit.

use std::fs;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The end of a process, and its output.
#[derive(Debug)]
pub struct Outcome {
    /// `None` if it did not end and was killed.
    pub status: Option<ExitStatus>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// If it did not end, its threads' names, and what each waited for.
    pub threads: Vec<String>,
}

/// The output of a process so far, on one stream.
type Text = Arc<Mutex<Vec<u8>>>;

/// The time limit for reading a process's output after its end.
const DRAIN: Duration = Duration::from_secs(30);

/// Runs a command with a time limit.
///
/// # Errors
/// There is no such command.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Outcome> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().map(collect).unwrap_or_default();
    let stderr = child.stderr.take().map(collect).unwrap_or_default();
    let ended = wait(&mut child, limit)?;
    let mut threads = Vec::new();
    if ended.is_none() {
        threads = threads_of(child.id());
        child.kill()?;
        child.wait()?;
    }
    // Its output may arrive late on a busy machine. Processes that it left behind keep a stream
    // open, so the wait is bounded.
    let until = Instant::now() + DRAIN;
    while Instant::now() < until
        && [&stdout, &stderr]
            .iter()
            .any(|text| Arc::strong_count(text) > 1)
    {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(Outcome {
        status: ended,
        stdout: said(&stdout),
        stderr: said(&stderr),
        threads,
    })
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Collects output, in a thread that owns the text until the end.
fn collect(mut from: impl Read + Send + 'static) -> Text {
    let text = Text::default();
    let to = Arc::clone(&text);
    thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut part) {
            let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
            to.extend_from_slice(&part[..n]);
        }
        drop(to);
    });
    text
}

fn said(text: &Text) -> String {
    let text = text.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&text).into_owned()
}

fn threads_of(process: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let folders = tasks.into_iter().flatten().flatten();
    let threads = folders.map(|task| {
        let read = |what| fs::read_to_string(task.path().join(what)).unwrap_or_default();
        format!("{} in {}", read("comm").trim(), read("wchan").trim())
    });
    threads.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Outcome {
        run(Command::new("sh").args(["-c", script]), limit).expect("there is a shell")
    }

    #[test]
    fn a_process_that_ends() {
        let outcome = shell("echo out; echo err >&2; exit 4", Duration::from_secs(60));
        assert_eq!(outcome.status.and_then(|status| status.code()), Some(4));
        assert_eq!(outcome.stdout, "out\n");
        assert_eq!(outcome.stderr, "err\n");
    }

    #[test]
    fn a_process_that_hangs_is_killed() {
        let start = Instant::now();
        let outcome = shell("echo before; exec sleep 600", Duration::from_secs(5));
        assert!(outcome.status.is_none());
        assert_eq!(outcome.stdout, "before\n");
        assert!(!outcome.threads.is_empty(), "what it did");
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}
