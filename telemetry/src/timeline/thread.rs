//! The records of the thread, and the spans that it has entered.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread;

use rustix::thread::gettid;
use tracing::Id;

use super::file::TimelineFile;
use super::record::text;
use super::records::Records;
use crate::clock::now;
use crate::fork::is_child;

/// A thread with records.
struct Thread {
    file: &'static TimelineFile,
    number: u32,
    records: Arc<Records>,
    /// The spans that it has entered and not left, and when it entered them.
    entered: Vec<(Id, u64)>,
}

thread_local! {
    static THREAD: RefCell<Option<Thread>> = const { RefCell::new(None) };
}

impl Thread {
    fn new(file: &'static TimelineFile) -> Self {
        let number = gettid().as_raw_nonzero().get().cast_unsigned();
        let records = file.add_thread(number);
        if let Some(name) = thread::current().name() {
            let mut args = br#""name":"#.to_vec();
            text(&mut args, name);
            let name = |bytes: &mut Vec<u8>| {
                let record = file.record(bytes, "M", number);
                record.text("name", "thread_name").end(&args);
            };
            records.add(name, |records| file.write(records));
        }
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

/// Calls `act` with this thread, unless it is ending or has called this, or is that of a child that was forked: the records
/// there may be locked by a thread that the child does not have.
fn with_thread(file: &'static TimelineFile, act: impl FnOnce(&mut Thread)) {
    if is_child() {
        return;
    }
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

/// Returns the number of this thread and when it has entered a span, which it leaves.
pub(crate) fn leave(file: &'static TimelineFile, span: &Id) -> Option<(u32, u64)> {
    let mut left = None;
    with_thread(file, |thread| {
        let found = thread.entered.iter().rposition(|(id, _)| id == span);
        left = found.map(|at| (thread.number, thread.entered.remove(at).1));
    });
    left
}

/// Adds records with `add`, which gets the number of this thread.
pub(crate) fn add(file: &'static TimelineFile, add: impl FnOnce(&mut Vec<u8>, u32)) {
    with_thread(file, |thread| {
        let number = thread.number;
        let add = |bytes: &mut Vec<u8>| add(bytes, number);
        thread.records.add(add, |records| file.write(records));
    });
}

/// The records of this thread.
#[cfg(test)]
pub(crate) fn own_records() -> Arc<Records> {
    THREAD.with_borrow(|thread| Arc::clone(&thread.as_ref().expect("it has some").records))
}

/// Counts a span that this thread skips.
pub(crate) fn skip(file: &'static TimelineFile) {
    with_thread(file, |thread| thread.records.skip());
}
