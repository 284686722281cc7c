//! Functions that replace libomp's of the same names, and have the same conditions.

use std::sync::{Arc, OnceLock};

use super::kind::{self, TaskKind};
use super::lists::Depends;
use super::record::Record;
use super::{run, siblings};
use crate::abi::Ident;
use crate::abi::libomp::{self, Dependence, IN, OUT, TIED, Task, TaskEntry};
use crate::args::slice;
use crate::report::message;
use crate::{registry, settings};

/// Whether devices resolve dependences, for all tasks or for none, since libomp does not know the
/// dependences that are resolved here. The first task with dependences decides.
static ACTIVE: OnceLock<bool> = OnceLock::new();

fn is_active() -> bool {
    if let Some(&known) = ACTIVE.get() {
        return known;
    }
    let is_first = libomp::is_interposed(c"__kmpc_omp_task_with_deps");
    // It identifies tasks.
    let has_places = libomp::async_handle().is_some();
    // A cancelled task never ends here. Queried before the cell is locked: libomp may call this
    // library.
    let ends_all = libomp::get_cancellation().is_some_and(|get| get() == 0);
    let wanted = || settings::devices_resolve().unwrap_or_else(registry::some_have_queues);
    let active = is_first && has_places && ends_all && wanted();
    *ACTIVE.get_or_init(|| active)
}

/// Whether the kinds of tasks may still be needed.
fn may_be_active() -> bool {
    ACTIVE.get() != Some(&false)
}

/// libomp's function, which exists if the program calls the one that replaces it.
fn needed<T>(find: fn() -> Option<T>) -> T {
    find().unwrap_or_else(|| {
        // It may have been loaded after an earlier lookup.
        libomp::retry_lookups();
        find().unwrap_or_else(|| missing())
    })
}

fn missing() -> ! {
    message::fatal(
        1,
        "a function of LLVM's OpenMP runtime was called, and there is no libomp.so.5 or libomp.so: \
         one of another name must be linked with the program, or preloaded",
    )
}

/// Creates a task.
///
/// # Safety
/// A compiler made the call for a task: these are arguments for libomp's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_task_alloc(
    at: *const Ident,
    thread: i32,
    flags: i32,
    bytes: usize,
    shared_bytes: usize,
    routine: TaskEntry,
) -> *mut Task {
    let alloc = needed(libomp::task_alloc);
    // SAFETY: libomp's function gets the arguments of its own call, unchanged.
    let task = unsafe { alloc(at, thread, flags, bytes, shared_bytes, routine) };
    if may_be_active() {
        kind::note(task, flags);
    }
    task
}

/// Creates a target task.
///
/// # Safety
/// A compiler made the call for a task: these are arguments for libomp's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_target_task_alloc(
    at: *const Ident,
    thread: i32,
    flags: i32,
    bytes: usize,
    shared_bytes: usize,
    routine: TaskEntry,
    device: i64,
) -> *mut Task {
    let alloc = needed(libomp::target_task_alloc);
    // SAFETY: libomp's function gets the arguments of its own call, unchanged.
    let task = unsafe { alloc(at, thread, flags, bytes, shared_bytes, routine, device) };
    if may_be_active() {
        kind::note_target(task, device);
    }
    task
}

/// Starts a task with dependences.
///
/// # Safety
/// The task is new and not shared; `list` and `more_list` are arrays of these lengths; the other
/// arguments are for libomp's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_task_with_deps(
    at: *const Ident,
    thread: i32,
    task: *mut Task,
    count: i32,
    list: *mut Dependence,
    more: i32,
    more_list: *mut Dependence,
) -> i32 {
    // SAFETY: the caller's promise is that of `start`.
    unsafe {
        start(
            at,
            thread,
            task,
            kind::take(task),
            count,
            list,
            more,
            more_list,
        )
    }
}

/// Starts a task of this library that ends when its function returns.
///
/// # Safety
/// It is new and not shared.
pub(crate) unsafe fn start_host_task(thread: i32, task: *mut Task, list: &mut [Dependence]) -> i32 {
    let (at, none) = (std::ptr::null(), std::ptr::null_mut());
    let (count, list) = (list.len() as i32, list.as_mut_ptr());
    // SAFETY: the caller's promise; the list is as long as that.
    unsafe { start(at, thread, task, TaskKind::Host, count, list, 0, none) }
}

/// Starts a task with dependences.
///
/// # Safety
/// As for [`__kmpc_omp_task_with_deps`].
#[allow(clippy::too_many_arguments, reason = "libomp's, and the kind")]
unsafe fn start(
    at: *const Ident,
    thread: i32,
    task: *mut Task,
    kind: TaskKind,
    count: i32,
    list: *mut Dependence,
    more: i32,
    more_list: *mut Dependence,
) -> i32 {
    let start = needed(libomp::task_with_deps);
    let parent = libomp::task_id(thread);
    if !is_active() || count <= 0 && more <= 0 || parent == 0 {
        // SAFETY: libomp's function gets the arguments of its own call, unchanged.
        return unsafe { start(at, thread, task, count, list, more, more_list) };
    }
    // SAFETY: the arrays have these lengths, by the caller's promise.
    let mut depends = unsafe { depends(count, list, more, more_list) };
    let has_companion = match kind {
        TaskKind::Host => false,
        TaskKind::Untied => true,
        // A kernel that waits in a queue must not exclude a task that it waits for.
        TaskKind::Target(device) => depends.exclusive.is_empty() && registry::has_queues(device),
    };
    // SAFETY: a task that libomp made.
    let routine = unsafe { (*task).routine };
    let record = siblings::add(parent, &depends, |number, before| {
        Record::new(number, parent, kind, has_companion, routine, before)
    });
    if kind != TaskKind::Untied {
        // SAFETY: the task is not shared before it is started.
        unsafe { run::interpose_routine(task, &record) };
    }
    // Before libomp may run it, which clears its predecessors.
    let before = record.before();
    let mut places = record.waited_for();
    places.push(record.first().with(OUT));
    let exclusive = &mut depends.exclusive;
    // SAFETY: the program's task, and local lists, into which libomp may write and which it does
    // not keep.
    let started = unsafe {
        start(
            at,
            thread,
            task,
            exclusive.len() as i32,
            exclusive.as_mut_ptr(),
            places.len() as i32,
            places.as_mut_ptr(),
        )
    };
    if has_companion {
        places.clear();
        places.push(record.first().with(IN));
        places.push(record.last().with(OUT));
        places.extend(before.iter().map(|before| before.last().with(IN)));
        // SAFETY: the record is that of the task, and the caller owns the list.
        unsafe { start_companion(at, thread, &record, &mut places) };
    }
    started
}

/// Starts a companion.
///
/// # Safety
/// As for [`__kmpc_omp_task_with_deps`].
unsafe fn start_companion(
    at: *const Ident,
    thread: i32,
    record: &Arc<Record>,
    places: &mut [Dependence],
) {
    let bytes = size_of::<Task>();
    // SAFETY: a task of this size whose entry is `run_companion`.
    let task = unsafe {
        match record.kind {
            TaskKind::Target(device) => {
                let alloc = needed(libomp::target_task_alloc);
                alloc(at, thread, TIED, bytes, 0, run::run_companion, device)
            }
            TaskKind::Host | TaskKind::Untied => {
                let alloc = needed(libomp::task_alloc);
                alloc(at, thread, TIED, bytes, 0, run::run_companion)
            }
        }
    };
    let start = needed(libomp::task_with_deps);
    let none = std::ptr::null_mut();
    // SAFETY: the task is new and not shared; the caller owns the list.
    unsafe {
        (*task).shareds = run::companion_data(record);
        start(
            at,
            thread,
            task,
            0,
            none,
            places.len() as i32,
            places.as_mut_ptr(),
        );
    }
}

/// The dependences of two lists of libomp.
///
/// # Safety
/// They have the given lengths.
unsafe fn depends(
    count: i32,
    list: *const Dependence,
    more: i32,
    more_list: *const Dependence,
) -> Depends {
    // SAFETY: the caller's promise.
    unsafe {
        Depends::new([
            slice(list, count.max(0) as usize),
            slice(more_list, more.max(0) as usize),
        ])
    }
}

/// Waits for dependences.
///
/// # Safety
/// `list` and `more_list` are arrays of these lengths; the other arguments are for libomp's function of
/// this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kmpc_omp_taskwait_deps_51(
    at: *const Ident,
    thread: i32,
    count: i32,
    list: *mut Dependence,
    more: i32,
    more_list: *mut Dependence,
    no_wait: i32,
) {
    let wait = needed(libomp::taskwait_deps);
    let parent = libomp::task_id(thread);
    if !is_active() || count <= 0 && more <= 0 || parent == 0 {
        // SAFETY: libomp's function gets the arguments of its own call, unchanged.
        return unsafe { wait(at, thread, count, list, more, more_list, no_wait) };
    }
    // SAFETY: the arrays have these lengths, by the caller's promise.
    let before = siblings::waited_for(parent, unsafe { depends(count, list, more, more_list) });
    let mut places: Vec<_> = before.iter().map(|before| before.last().with(IN)).collect();
    let none = std::ptr::null_mut();
    // It always waits: later tasks are not ordered after it.
    // SAFETY: local lists, into which it may write, and which live until it returns.
    unsafe {
        wait(
            at,
            thread,
            0,
            none,
            places.len() as i32,
            places.as_mut_ptr(),
            0,
        )
    };
}

/// Waits for dependences.
///
/// # Safety
/// `list` and `more_list` are arrays of these lengths; the other arguments are for libomp's function of
/// this name.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __kmpc_omp_wait_deps(
    at: *const Ident,
    thread: i32,
    count: i32,
    list: *mut Dependence,
    more: i32,
    more_list: *mut Dependence,
) {
    if is_active() {
        // SAFETY: the same promise: that function also waits, and takes one more number.
        return unsafe { __kmpc_omp_taskwait_deps_51(at, thread, count, list, more, more_list, 0) };
    }
    let wait = needed(libomp::wait_deps);
    // SAFETY: libomp's function gets the arguments of its own call, unchanged.
    unsafe { wait(at, thread, count, list, more, more_list) };
}
