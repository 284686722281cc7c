//! The queue of text between the wires and a standard stream.
//!
//! The poller appends the text of kernels, and a separate thread writes it. So a blocked output,
//! such as a full pipe, delays the end of kernels that print. A call waits at most 100 ms for the
//! text that its thread has printed, so that this precedes the text of the host function.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::base::lock::{lock, wait, wait_until};
use crate::base::output::{self, Stream};

/// Maximum unwritten bytes. While there are more, text stays on the wires, so that a kernel waits
/// that prints faster than the output accepts text.
const LIMIT: u64 = 1 << 20;

/// Longest time that a call waits for earlier text.
const CALL_TIMEOUT: Duration = Duration::from_millis(100);

/// The text of a server's kernels. A position in it is the number of bytes before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stream: Stream,
    state: Mutex<State>,
    /// Text was added, written or awaited, or the queue was closed.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Text that the writer has not taken yet.
    pending: Vec<u8>,
    /// The position of the end of `pending`.
    end: u64,
    /// The position before which all text is written.
    written: u64,
    /// The position before which text is awaited.
    awaited: u64,
    has_writer: bool,
    /// Whether a thread is writing. One writes at a time, to keep the order.
    is_writing: bool,
    /// Whether a call has timed out, and text has been pending ever since.
    is_stuck: bool,
    is_closed: bool,
}

impl Text {
    /// An empty queue before `stream`.
    pub(super) fn new(stream: Stream) -> Self {
        let shared = Shared {
            stream,
            ..Shared::default()
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The stream on which the text is printed.
    pub(super) fn stream(&self) -> Stream {
        self.shared.stream
    }

    /// Appends `text`, to be written. Returns the position of its end, and the writer that must be
    /// started if there is none.
    pub(super) fn push(&self, text: &[u8]) -> (u64, Option<Writer>) {
        let mut state = self.state();
        state.pending.extend_from_slice(text);
        state.end += text.len() as u64;
        let missing = (!state.has_writer).then(|| Writer(Arc::clone(&self.shared)));
        self.shared.changed.notify_all();
        (state.end, missing)
    }

    /// Appends `text` on a thread that may wait. While too much text is unwritten, waits; then, as
    /// before a call, waits a while until this text is written.
    pub(super) fn print(&self, text: &[u8]) {
        let start = self.end();
        self.wait(start.saturating_sub(LIMIT), None);
        let (end, writer) = self.push(text);
        if let Some(writer) = writer {
            writer.start();
        }
        self.wait_before_call(end);
    }

    /// The position of the end of the text so far.
    pub(super) fn end(&self) -> u64 {
        self.state().end
    }

    /// Whether more than [`LIMIT`] bytes are unwritten.
    pub(super) fn is_full(&self) -> bool {
        let state = self.state();
        state.end - state.written > LIMIT
    }

    /// Whether some text is unwritten.
    pub(super) fn is_pending(&self) -> bool {
        let state = self.state();
        state.end > state.written
    }

    /// Waits until all text before `position` is written; `false` if it is not by `until`.
    pub(super) fn wait(&self, position: u64, until: Option<Instant>) -> bool {
        // The poller may not have started it yet, and this thread must not be the one that blocks.
        if self.needs_writer(position) {
            Writer(Arc::clone(&self.shared)).start();
        }
        let mut state = self.state();
        if state.awaited < position {
            state.awaited = position;
            self.shared.changed.notify_all();
        }
        while state.written < position {
            if !state.has_writer && !state.is_writing && !state.pending.is_empty() {
                state = self.shared.write(state);
                continue;
            }
            let changed = &self.shared.changed;
            state = match until {
                None => wait(changed, state),
                Some(until) => match wait_until(changed, state, until) {
                    Ok(state) => state,
                    Err(_) => return false,
                },
            };
        }
        true
    }

    /// Like [`wait`](Self::wait), for a call. After a timeout, no other call waits until all text
    /// is written.
    pub(super) fn wait_before_call(&self, position: u64) {
        let timeout = if self.state().is_stuck {
            Duration::ZERO
        } else {
            CALL_TIMEOUT
        };
        if !self.wait(position, Some(Instant::now() + timeout)) {
            let mut state = self.state();
            state.is_stuck = state.written < state.end;
        }
    }

    /// Whether there is unwritten text before `position`, and no thread to write it.
    fn needs_writer(&self, position: u64) -> bool {
        let state = self.state();
        !state.has_writer && state.written < position
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

/// The thread that writes the text, before it is started.
#[derive(Debug)]
pub(super) struct Writer(Arc<Shared>);

impl Writer {
    /// Starts the thread, unless there is one. It is not joined, since a blocked output may block it
    /// forever. If it cannot be created, the threads that wait for the text write it.
    pub(super) fn start(self) {
        self.start_by(|shared| {
            let name = match shared.stream {
                Stream::Output => "output",
                Stream::Error => "error output",
            };
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn(move || shared.write_all()).map(drop)
        });
    }

    /// `spawn` runs without the lock, which the poller takes.
    fn start_by(self, spawn: impl FnOnce(Arc<Shared>) -> io::Result<()>) {
        let had_writer = std::mem::replace(&mut lock(&self.0.state).has_writer, true);
        if !had_writer && spawn(Arc::clone(&self.0)).is_err() {
            lock(&self.0.state).has_writer = false;
            self.0.changed.notify_all();
        }
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        self.state().is_closed = true;
        self.shared.changed.notify_all();
    }
}

impl State {
    /// The number of bytes that may be written now: all except an incomplete character at the end,
    /// unless it is awaited.
    fn writable(&self) -> usize {
        let len = self.pending.len();
        if self.is_closed || self.awaited == self.end {
            return len;
        }
        match str::from_utf8(&self.pending) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // Bytes that cannot become UTF-8 are written as they are.
            _ => len,
        }
    }
}

impl Shared {
    /// The main loop of the writing thread.
    fn write_all(&self) {
        let mut state = lock(&self.state);
        loop {
            state = match state.writable() {
                0 if state.is_closed => return,
                0 => wait(&self.changed, state),
                _ => self.write(state),
            };
        }
    }

    /// Writes the writable text.
    fn write<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let writable = state.writable();
        let text: Vec<u8> = state.pending.drain(..writable).collect();
        state.is_writing = true;
        drop(state);
        output::print(self.stream, &text);
        let mut state = lock(&self.state);
        state.is_writing = false;
        state.written += text.len() as u64;
        state.is_stuck &= state.written < state.end;
        self.changed.notify_all();
        state
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{State, Text};

    #[test]
    fn a_wait_starts_the_writer() {
        let text = Text::default();
        let (end, writer) = text.push(b"");
        assert!(writer.is_some() && !text.needs_writer(end));
        // As if there were text, which the test does not print.
        text.state().end = 1;
        assert!(text.needs_writer(1));
        let until = Some(std::time::Instant::now());
        assert!(!text.wait(1, until));
        assert!(text.state().has_writer);
    }

    #[test]
    fn the_writer_is_created_without_the_lock() {
        let text = Text::default();
        let (_, writer) = text.push(b"");
        writer.unwrap().start_by(|shared| {
            let state = shared.state.try_lock().expect("the lock is free");
            assert!(state.has_writer, "another thread may create one, too");
            Err(io::ErrorKind::OutOfMemory.into())
        });
        assert!(!text.state().has_writer);
    }

    #[test]
    fn characters_are_not_split() {
        let state = |pending: &[u8], awaited| State {
            pending: pending.to_vec(),
            end: 10,
            awaited,
            ..State::default()
        };
        assert_eq!(state(b"a\xe2\x82", 0).writable(), 1);
        assert_eq!(state(b"\xe2\x82", 0).writable(), 0);
        assert_eq!(state(b"\xe2\x82\xac", 0).writable(), 3);
        // Awaited bytes are written even if incomplete, and so is invalid UTF-8.
        assert_eq!(state(b"\xe2\x82", 10).writable(), 2);
        assert_eq!(state(b"\xff\xe2", 0).writable(), 2);
    }
}
