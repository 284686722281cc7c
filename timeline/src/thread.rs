//! The records of the thread, and the spans that it has entered.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};
use tracing::Id;

use crate::file::TimelineFile;
use crate::records::Records;

/// A thread with records.
struct Thread {
    file: &'static TimelineFile,
    number: u32,
    records: Arc<Mutex<Records>>,
    /// The spans that it has entered and not left, and when it entered them.
    entered: Vec<(Id, u64)>,
}

thread_local! {
    static THREAD: RefCell<Option<Thread>> = const { RefCell::new(None) };
}

/// Nanoseconds of the system's monotonic clock, which all processes of a machine share.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

fn lock(records: &Mutex<Records>) -> MutexGuard<'_, Records> {
    records.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Thread {
    fn new(file: &'static TimelineFile) -> Self {
        let number = gettid().as_raw_nonzero().get().cast_unsigned();
        let mut records = Records::new(now());
        if let Some(name) = thread::current().name() {
            let mut args = br#""name":"#.to_vec();
            crate::record::text(&mut args, name);
            let record = file.record(&mut records.bytes, "M", number);
            record.text("name", "thread_name").end(&args);
        }
        let records = Arc::new(Mutex::new(records));
        file.add_thread(&records);
        Self {
            file,
            number,
            records,
            entered: Vec::new(),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.file.remove_thread(&self.records);
    }
}

/// Calls `act` with this thread, unless it is ending or has called this.
fn with_thread(file: &'static TimelineFile, act: impl FnOnce(&mut Thread)) {
    // Records of destructors of this thread's variables are lost.
    let _ = THREAD.try_with(|thread| {
        if let Ok(mut thread) = thread.try_borrow_mut() {
            act(thread.get_or_insert_with(|| Thread::new(file)));
        }
    });
}

/// Notes that this thread enters a span now.
pub(crate) fn enter(file: &'static TimelineFile, span: &Id) {
    with_thread(file, |thread| thread.entered.push((span.clone(), now())));
}

/// Returns when this thread has entered a span, which it leaves.
pub(crate) fn leave(file: &'static TimelineFile, span: &Id) -> Option<u64> {
    let mut begin = None;
    with_thread(file, |thread| {
        let found = thread.entered.iter().rposition(|(id, _)| id == span);
        begin = found.map(|at| thread.entered.remove(at).1);
    });
    begin
}

/// Adds records with `add`, which gets the number of this thread.
pub(crate) fn add(file: &'static TimelineFile, now: u64, add: impl FnOnce(&mut Vec<u8>, u32)) {
    with_thread(file, |thread| {
        let mut records = lock(&thread.records);
        add(&mut records.bytes, thread.number);
        if records.must_be_written(now) {
            file.write(&mut records.bytes);
        }
    });
}

/// Adds a mark: this thread has skipped so many spans.
pub(crate) fn add_skipped(file: &'static TimelineFile, count: u64) {
    let now = now();
    add(file, now, |buffer, thread| {
        let record = file.record(buffer, "i", thread).time("ts", now);
        let name = format!("{count} spans skipped");
        record.text("s", "t").text("name", &name).end(&[]);
    });
}
