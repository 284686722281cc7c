//! Text of kernels on its way from their wires to the standard output.
//!
//! The poller takes text off the wires and leaves it here; a thread of its own writes it. So an
//! output that accepts no more (a full pipe) delays the end of kernels that print. A call waits for
//! it 100 ms at most, so that what its thread has printed comes before what the host function prints.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::base::lock::{lock, wait, wait_until};
use crate::base::output;

/// Bytes that may wait to be written. While there are more, text stays on the wires, so that a
/// kernel that prints faster than its output accepts text waits for it.
const LIMIT: u64 = 1 << 20;

/// How long a call waits for the text before it.
const CALL_PATIENCE: Duration = Duration::from_millis(100);

/// The text of a server's wires. A position in it is the number of bytes before it.
#[derive(Debug, Default)]
pub(super) struct Text {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Text has come, was written or is waited for, or there will be no more.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What the writer has not taken yet.
    pending: Vec<u8>,
    /// Where `pending` ends.
    end: u64,
    written: u64,
    /// Text before this is waited for.
    wanted: u64,
    has_writer: bool,
    /// Somebody is writing: text goes out in its order, by one thread at a time.
    is_writing: bool,
    /// The output did not accept all text while a call waited for it, and has not done so since.
    is_stuck: bool,
    is_closed: bool,
}

impl Text {
    /// Has `text` written; returns where it ends.
    pub(super) fn push(&self, text: &[u8]) -> u64 {
        let mut state = self.state();
        state.pending.extend_from_slice(text);
        state.end += text.len() as u64;
        if !state.has_writer {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("output".to_owned());
            // It is not joined: an output that accepts nothing would keep it for ever. Where
            // there can be none, the threads that wait for the text write it.
            state.has_writer = thread.spawn(move || shared.write_all()).is_ok();
        }
        self.shared.changed.notify_all();
        state.end
    }

    /// Where the text so far ends.
    pub(super) fn end(&self) -> u64 {
        self.state().end
    }

    /// Whether there is as much as may wait.
    pub(super) fn is_full(&self) -> bool {
        let state = self.state();
        state.end - state.written > LIMIT
    }

    /// Whether some text was not written yet.
    pub(super) fn is_pending(&self) -> bool {
        let state = self.state();
        state.end > state.written
    }

    /// Waits until all text before `position` was written; `false` if it was not by `until`.
    pub(super) fn wait(&self, position: u64, until: Option<Instant>) -> bool {
        let mut state = self.state();
        if state.wanted < position {
            state.wanted = position;
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

    /// As [`wait`](Self::wait), for a call: once one has waited for long, no other does until
    /// the output has accepted everything.
    pub(super) fn wait_before_call(&self, position: u64) {
        let patience = if self.state().is_stuck {
            Duration::ZERO
        } else {
            CALL_PATIENCE
        };
        if !self.wait(position, Some(Instant::now() + patience)) {
            let mut state = self.state();
            state.is_stuck = state.written < state.end;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        self.state().is_closed = true;
        self.shared.changed.notify_all();
    }
}

impl State {
    /// Bytes that may be written now: all but a character at the end whose last bytes are still to
    /// come, unless somebody waits for it.
    fn writable(&self) -> usize {
        let len = self.pending.len();
        if self.is_closed || self.wanted == self.end {
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
    /// The life of the thread that writes.
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

    /// Writes what is there.
    fn write<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let writable = state.writable();
        let text: Vec<u8> = state.pending.drain(..writable).collect();
        state.is_writing = true;
        drop(state);
        output::print(&text);
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
    use super::State;

    #[test]
    fn characters_are_not_split() {
        let state = |pending: &[u8], wanted| State {
            pending: pending.to_vec(),
            end: 10,
            wanted,
            ..State::default()
        };
        assert_eq!(state(b"a\xe2\x82", 0).writable(), 1);
        assert_eq!(state(b"\xe2\x82", 0).writable(), 0);
        assert_eq!(state(b"\xe2\x82\xac", 0).writable(), 3);
        // A waiting call gets the bytes that are there; invalid UTF-8 is not held back.
        assert_eq!(state(b"\xe2\x82", 10).writable(), 2);
        assert_eq!(state(b"\xff\xe2", 0).writable(), 2);
    }
}
