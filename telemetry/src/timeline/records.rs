//! The records of a thread until they are written.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::record::Record;
use crate::clock::now;
use crate::lock::lock;

/// Bytes that a thread keeps; more are written.
const BUFFER_BYTES: usize = 16 << 10;

/// Records that are not written yet.
pub(crate) struct Records {
    bytes: Mutex<Vec<u8>>,
    /// Spans that were skipped since the last mark.
    skipped: AtomicU64,
    process: u32,
    thread: u32,
}

impl Records {
    pub(crate) fn new(process: u32, thread: u32) -> Self {
        Self {
            bytes: Mutex::default(),
            skipped: AtomicU64::new(0),
            process,
            thread,
        }
    }

    /// Adds what `add` appends, and writes all records with `write` if they are many.
    pub(crate) fn add(&self, add: impl FnOnce(&mut Vec<u8>), write: impl FnOnce(&[u8])) {
        let mut bytes = lock(&self.bytes);
        add(&mut bytes);
        if bytes.len() >= BUFFER_BYTES {
            write(&bytes);
            bytes.clear();
        }
    }

    /// Counts a span that is skipped.
    pub(crate) fn skip(&self) {
        // Relaxed, also below: a count that orders nothing.
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes all records with `write`, and a mark that counts the spans that were skipped. They stay locked
    /// meanwhile: if a thread finds none, they are written.
    pub(crate) fn write(&self, write: impl FnOnce(&[u8])) {
        let mut bytes = lock(&self.bytes);
        let skipped = self.skipped.swap(0, Ordering::Relaxed);
        if skipped > 0 {
            let record = Record::new(&mut bytes, "i", self.process, self.thread);
            let name = format!("{skipped} spans skipped");
            let record = record.time("ts", now()).text("s", "t");
            record.text("name", &name).end(&[]);
        }
        write(&bytes);
        bytes.clear();
    }
}
