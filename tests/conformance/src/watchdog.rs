//! Turns a test that hangs into a failure with its name.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{child, process};

/// The environment variable that sets [`limit`], in seconds: for sanitizers and
/// slow machines.
pub const LIMIT: &str = "REVOFF_TEST_SECONDS";

/// The time limit of a test. While a thread of the process waits for a processor, time does not
/// count: on a busy machine a test may take any time without hanging. A test that runs others in
/// processes of their own has this time for each of them.
///
/// # Panics
/// The environment variable [`LIMIT`] is invalid.
#[must_use]
pub fn limit() -> Duration {
    let seconds = match std::env::var(LIMIT) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{LIMIT}={text:?}: a number of seconds expected")),
        Err(_) => 60,
    };
    Duration::from_secs(seconds)
}

/// How often a watchdog looks at the threads.
const STEP: Duration = Duration::from_secs(1);

/// Watches a test until it is dropped.
pub struct Watchdog {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts watching the test `name`.
    ///
    /// # Panics
    /// No further thread can be created.
    #[must_use]
    pub fn watch(name: &str) -> Self {
        let (done, wait) = channel();
        let (watched, limit) = (name.to_owned(), limit());
        let watch = move || {
            if !ends_within(limit, &wait) {
                give_up(&watched, limit);
            }
        };
        let thread = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(watch)
            .unwrap_or_else(|error| panic!("no thread to watch {name}: {error}"));
        Self {
            done: Some(done),
            thread: Some(thread),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.done.take();
        if let Some(thread) = self.thread.take() {
            // It ends now, and cannot panic.
            let _ = thread.join();
        }
    }
}

/// Waits for the end of the test, that of `done`'s other side; returns false if the test takes longer
/// than `limit`.
fn ends_within(limit: Duration, done: &Receiver<()>) -> bool {
    let mut counted = Duration::ZERO;
    let (mut last, mut waits) = (Instant::now(), process::processor_waits());
    let mut ended = child::ended();
    while counted < limit {
        if done.recv_timeout(STEP) != Err(RecvTimeoutError::Timeout) {
            return true;
        }
        let (now, before) = (Instant::now(), waits);
        waits = process::processor_waits();
        let in_vain = waits.iter().map(|(thread, &wait)| {
            wait.saturating_sub(before.get(thread).copied().unwrap_or_default())
        });
        counted += (now - last).saturating_sub(in_vain.max().unwrap_or_default());
        last = now;
        if ended != child::ended() {
            (ended, counted) = (child::ended(), Duration::ZERO);
        }
    }
    false
}

#[expect(clippy::print_stderr, reason = "the last words of a test")]
fn give_up(name: &str, limit: Duration) -> ! {
    eprintln!(
        "test {name} HANGS: no end after {limit:?} with processors at hand; the threads of its process are"
    );
    for (thread, count) in process::thread_names() {
        eprintln!("  {count:>5} x {thread}");
    }
    // Threads that hang cannot be ended one by one.
    std::process::abort()
}
