//! Turns a test that hangs into a failure with its name.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::process;

/// The environment variable that sets [`limit`], in seconds: for sanitizers and
/// slow machines.
pub const LIMIT: &str = "REVOFF_TEST_SECONDS";

/// The time limit of a test.
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
            if wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
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

#[expect(clippy::print_stderr, reason = "the last words of a test")]
fn give_up(name: &str, limit: Duration) -> ! {
    eprintln!("test {name} HANGS: no end after {limit:?}; the threads of its process are");
    for (thread, count) in process::thread_names() {
        eprintln!("  {count:>5} x {thread}");
    }
    // Threads that hang cannot be ended one by one.
    std::process::abort()
}
