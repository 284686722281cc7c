//! Text of kernels on its way from their wires to the standard output.
//!
//! The poller takes text off the wires and keeps it here. It is written without the poll token,
//! and only while the output accepts it: an output that accepts no more (a full pipe) blocks the
//! end of the kernels that print, and no call.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::idle::Idle;
use super::{Waiting, lock};
use crate::output;

/// Bytes that may wait to be written. While there are more, wires with text are not polled, so
/// that a kernel that prints faster than its output accepts text waits for it.
const LIMIT: u64 = 1 << 20;

/// What is written at a time: a pipe that is ready accepts as much (`PIPE_BUF`).
const PIECE: usize = 4096;

/// How long a call waits for the text before it.
const PATIENCE: Duration = Duration::from_millis(100);

/// The text of a server's wires. A position is the number of bytes that came before it.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// What nobody has begun to write, in the order in which it was taken.
    pending: Mutex<Vec<u8>>,
    /// Held by the thread that writes.
    writer: Mutex<()>,
    /// Where `pending` ends.
    end: AtomicU64,
    /// What is before it was written.
    written: AtomicU64,
    /// A call has waited for the output in vain, which has not accepted all text since.
    is_stuck: AtomicBool,
}

impl Text {
    /// Keeps `text`; returns where it ends.
    pub(super) fn push(&self, text: &[u8]) -> u64 {
        let mut pending = lock(&self.pending);
        pending.extend_from_slice(text);
        // Relaxed: written under the lock; who reads it without wants no text by it.
        self.end.fetch_add(text.len() as u64, Ordering::Relaxed) + text.len() as u64
    }

    /// Where the text so far ends.
    pub(super) fn end(&self) -> u64 {
        // Relaxed: as above.
        self.end.load(Ordering::Relaxed)
    }

    /// Whether all text before `position` was written.
    pub(super) fn is_written(&self, position: u64) -> bool {
        // Acquire, of the writer's release: what it has written is in the file.
        self.written.load(Ordering::Acquire) >= position
    }

    /// Whether there is as much as may wait.
    pub(super) fn is_full(&self) -> bool {
        self.end().saturating_sub(LIMIT) > 0 && !self.is_written(self.end() - LIMIT)
    }

    /// Whether some text was not written yet.
    pub(super) fn is_pending(&self) -> bool {
        !self.is_written(self.end())
    }

    /// Writes what the output accepts now, unless another thread does.
    pub(super) fn write(&self) {
        while self.is_pending() {
            let Ok(_writer) = self.writer.try_lock() else {
                return;
            };
            if !output::is_ready() {
                return;
            }
            let piece: Vec<u8> = {
                let mut pending = lock(&self.pending);
                let len = pending.len().min(PIECE);
                pending.drain(..len).collect()
            };
            output::print(&piece);
            // Release: see `is_written`.
            self.written
                .fetch_add(piece.len() as u64, Ordering::Release);
        }
        // Relaxed: a hint.
        self.is_stuck.store(false, Ordering::Relaxed);
    }

    /// Writes all text before `position`, or by `until` what the output accepts.
    pub(super) fn write_until(&self, position: u64, until: Option<Instant>) {
        let mut idle = Idle::new(Waiting::Adaptive);
        loop {
            self.write();
            if self.is_written(position) || until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            idle.wait();
        }
    }

    /// As [`write_until`](Self::write_until), for a call, which is not kept for long.
    pub(super) fn write_before_call(&self, position: u64) {
        if self.is_written(position) {
            return;
        }
        let is_stuck = self.is_stuck.load(Ordering::Relaxed);
        let patience = if is_stuck { Duration::ZERO } else { PATIENCE };
        self.write_until(position, Some(Instant::now() + patience));
        self.is_stuck
            .store(!self.is_written(position), Ordering::Relaxed);
    }
}
