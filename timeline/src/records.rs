//! The records of a thread until they are written.

/// Bytes of records that a thread keeps; more are written.
const KEPT: usize = 16 << 10;

/// Nanoseconds after which a thread writes its records: those of a program that is killed are lost.
const MAX_AGE: u64 = 1_000_000_000;

/// Records that are not written yet. The thread that they belong to locks them, and at the end the one that
/// exits.
pub(crate) struct Records {
    pub(crate) bytes: Vec<u8>,
    /// When they were written last, in nanoseconds.
    written: u64,
}

impl Records {
    pub(crate) fn new(now: u64) -> Self {
        Self {
            bytes: Vec::new(),
            written: now,
        }
    }

    /// Whether they are to be written now.
    pub(crate) fn must_be_written(&mut self, now: u64) -> bool {
        // The first ones may be older than the thread is known.
        let must = self.bytes.len() >= KEPT || now.saturating_sub(self.written) >= MAX_AGE;
        if must {
            self.written = now;
        }
        must
    }
}
