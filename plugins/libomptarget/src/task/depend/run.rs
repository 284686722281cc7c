//! Running tasks with dependences.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use revoff_host::device::Event;

use super::kind::TaskKind;
use super::record::Record;
use super::{launching, siblings};
use crate::abi::Ident;
use crate::abi::libomp::{self, Task};
use crate::locks::lock;
use crate::task::pending::{self, PendingLaunch};

/// Tasks with this library's function, until they run.
static TASKS: Mutex<Option<HashMap<usize, Arc<Record>>>> = Mutex::new(None);

thread_local! {
    /// The target task that this thread runs, with its [`libomp::task_id`].
    static CURRENT: RefCell<Option<(usize, Arc<Record>)>> = const { RefCell::new(None) };
}

/// Makes libomp call `run` instead of the task's function.
///
/// # Safety
/// The task is new and not shared.
pub(super) unsafe fn interpose_routine(task: *mut Task, record: &Arc<Record>) {
    let mut tasks = lock(&TASKS);
    let tasks = tasks.get_or_insert_default();
    tasks.insert(task.addr(), Arc::clone(record));
    // SAFETY: the caller's promise.
    unsafe { (*task).routine = run };
}

/// Runs a task.
unsafe extern "C" fn run(thread: i32, task: *mut Task) -> i32 {
    let mut tasks = lock(&TASKS);
    let known = tasks.as_mut().and_then(|tasks| tasks.remove(&task.addr()));
    drop(tasks);
    let Some(record) = known else {
        unreachable!("`interpose_routine` recorded it, and libomp runs a tied task once")
    };
    if !matches!(record.kind, TaskKind::Target(_)) {
        // SAFETY: the task's own function, with libomp's arguments, called once.
        let ended = unsafe { (record.routine)(thread, task) };
        returned(&record);
        return ended;
    }
    let place = libomp::task_id(thread);
    let outer = CURRENT.replace(Some((place, Arc::clone(&record))));
    // SAFETY: the task's own function, with libomp's arguments, called once.
    let ended = unsafe { (record.routine)(thread, task) };
    CURRENT.set(outer);
    returned(&record);
    ended
}

/// The program's function has returned.
fn returned(record: &Record) {
    record.count();
    if !record.has_companion() {
        siblings::end(record);
    }
}

/// Takes the thread's task with dependences, at its construct.
pub(crate) fn current() -> Option<CurrentTask> {
    // Most constructs are in no such task.
    let place = CURRENT.with_borrow(|current| current.as_ref().map(|(place, _)| *place))?;
    // It may be suspended while the thread runs another.
    if place != libomp::running_task_id()? {
        return None;
    }
    CURRENT.take().map(|(_, record)| CurrentTask(record))
}

/// The task of a construct.
pub(crate) struct CurrentTask(Arc<Record>);

impl CurrentTask {
    /// Whether its kernel may be in flight when libomp's task has ended.
    pub(crate) fn is_split(&self) -> bool {
        self.0.is_split()
    }

    /// Records whether its function enqueues a kernel: libomp then runs the next such task without
    /// waiting for earlier kernels, and otherwise when they have ended.
    pub(crate) fn note_launching(&self, launches: bool) {
        launching::note(self.0.routine, launches);
    }

    /// The events that its queue must wait for.
    pub(crate) fn events(&self) -> Vec<Arc<dyn Event>> {
        self.0.events()
    }

    /// Waits for the kernels in flight before it.
    pub(crate) fn wait(&self) {
        self.0.wait();
    }

    /// Records that its kernel is in a queue, before `event`.
    pub(crate) fn queued(
        self,
        event: Arc<dyn Event>,
        pending: PendingLaunch,
        kernel: String,
        at: *const Ident,
    ) {
        self.0.queue(event, pending, kernel, at);
    }
}

/// Runs a companion: ends its task, to which `shareds` is a counted reference.
pub(super) unsafe extern "C" fn run_companion(_thread: i32, task: *mut Task) -> i32 {
    // SAFETY: `interpose` stored it, and libomp runs the task once.
    let record = unsafe { Arc::from_raw((*task).shareds.cast_const().cast::<Record>()) };
    let Some(mut pending) = record.take_pending() else {
        siblings::end(&record);
        return 0;
    };
    pending.restart_time();
    let pending = pending.and_then(move || siblings::end(&record));
    match if pending.is_done() {
        None
    } else {
        pending::handle()
    } {
        // SAFETY: the running task's.
        Some(handle) => unsafe { pending::put(handle, pending) },
        None => pending.wait(),
    }
    0
}

/// The companion's data, in the field for shared variables.
pub(super) fn companion_data(record: &Arc<Record>) -> *mut c_void {
    Arc::into_raw(Arc::clone(record)).cast_mut().cast()
}
