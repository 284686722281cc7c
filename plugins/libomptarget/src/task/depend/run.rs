//! What is done when libomp runs a task with dependences.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, RwLock};

use host_rt::device::Event;

use super::kinds::Kind;
use super::record::Record;
use crate::abi::Ident;
use crate::abi::libomp::{self, Task, TaskEntry};
use crate::locks::{lock, read, write};
use crate::task::pending::{self, Pending};

/// Tasks whose function is this library's, until they are run.
static TASKS: Mutex<Option<HashMap<usize, Arc<Record>>>> = Mutex::new(None);

/// Functions of tasks that did nothing but launch a kernel, when they were last run. What a
/// compiler makes of a construct whose condition does not hold is another function, which does
/// what the region does, and never gets here.
static LAUNCHING: RwLock<Option<HashSet<usize>>> = RwLock::new(None);

thread_local! {
    /// The target task whose function this thread runs, with libomp's place in it.
    static CURRENT: RefCell<Option<(usize, Arc<Record>)>> = const { RefCell::new(None) };
}

/// Has libomp run `run` in the place of the task's function.
///
/// # Safety
/// The task is new, and nobody else's.
pub(super) unsafe fn stand_before(task: *mut Task, record: &Arc<Record>) {
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
        unreachable!("`stand_before` has put it there, and libomp runs a tied task once")
    };
    if !matches!(record.kind, Kind::Target(_)) {
        // SAFETY: what libomp would do.
        let ended = unsafe { (record.routine)(thread, task) };
        record.returned();
        return ended;
    }
    let place = libomp::place_of_task(thread);
    let outer = CURRENT.replace(Some((place, Arc::clone(&record))));
    // SAFETY: as above.
    let ended = unsafe { (record.routine)(thread, task) };
    CURRENT.set(outer);
    record.returned();
    ended
}

/// Whether a task with this function is likely to put a kernel into a queue, without waiting.
pub(super) fn is_launching(routine: TaskEntry) -> bool {
    let known = read(&LAUNCHING);
    let known = known.as_ref();
    known.is_some_and(|known| known.contains(&(routine as usize)))
}

/// Forgets what is known of functions: some of them are gone.
pub(crate) fn forget_routines() {
    *write(&LAUNCHING) = None;
}

/// The task with dependences whose construct the thread has come to; once.
pub(crate) fn current() -> Option<Current> {
    // Most constructs are in no such task.
    let place = CURRENT.with_borrow(|current| current.as_ref().map(|(place, _)| *place))?;
    // It may be waiting while the thread runs another.
    if place != libomp::place_of_running_task()? {
        return None;
    }
    CURRENT.take().map(|(_, record)| Current(record))
}

/// The task of a construct.
pub(crate) struct Current(Arc<Record>);

impl Current {
    /// Whether its kernel may be in flight when libomp's task has ended.
    pub(crate) fn is_split(&self) -> bool {
        self.0.is_split()
    }

    /// Notes whether its function puts a kernel into a queue: libomp then runs the next one
    /// like it without waiting for kernels before it, and otherwise when they have ended.
    pub(crate) fn note_launching(&self, launches: bool) {
        if is_launching(self.0.routine) == launches {
            return;
        }
        let routine = self.0.routine as usize;
        let mut known = write(&LAUNCHING);
        let known = known.get_or_insert_default();
        if launches {
            known.insert(routine);
        } else {
            known.remove(&routine);
        }
    }

    /// What its queue has to wait for.
    pub(crate) fn events(&self) -> Vec<Arc<dyn Event>> {
        self.0.events()
    }

    /// Waits until nothing is in flight before it.
    pub(crate) fn wait(&self) {
        self.0.wait();
    }

    /// Its kernel is in a queue, at the `event`.
    pub(crate) fn queued(
        self,
        event: Arc<dyn Event>,
        pending: Pending,
        kernel: String,
        at: *const Ident,
    ) {
        self.0.queue(event, pending, kernel, at);
    }
}

/// Runs a companion: ends the task that it belongs to, of which `shareds` is an owner.
pub(super) unsafe extern "C" fn run_companion(_thread: i32, task: *mut Task) -> i32 {
    // SAFETY: `entry` has put it there, and libomp runs the task once.
    let record = unsafe { Arc::from_raw((*task).shareds.cast_const().cast::<Record>()) };
    let Some(mut pending) = record.take_pending() else {
        record.end();
        return 0;
    };
    pending.restart_time();
    let pending = pending.and_then(move || record.end());
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

/// What a companion gets in the place of shared variables.
pub(super) fn companion_data(record: &Arc<Record>) -> *mut c_void {
    Arc::into_raw(Arc::clone(record)).cast_mut().cast()
}
