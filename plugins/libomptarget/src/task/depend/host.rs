//! Work of the host as a task of libomp's, and waits for dependences, for OpenMP's routines and
//! for constructs with `depend`.

use std::ffi::{c_int, c_void};

use super::interpose::{__kmpc_omp_wait_deps, start_host_task};
use crate::abi::libomp::{self, Dependence, Task};

/// Flag of tasks that libomp's own threads run instead of a team's.
const HIDDEN_HELPER: i32 = 1 << 7;

/// Runs `work` as a task with dependences, or immediately without libomp.
///
/// # Safety
/// `dependences` are `count` pointers to dependences, such as `omp_depend_t`.
pub(crate) unsafe fn run_as_task(
    work: Box<dyn FnOnce() -> c_int + Send>,
    count: c_int,
    dependences: *const *const Dependence,
) -> c_int {
    unsafe extern "C" fn run(_thread: i32, task: *mut Task) -> i32 {
        // SAFETY: libomp calls this once, with the task whose `shareds` was made below.
        let work = unsafe { Box::from_raw((*task).shareds.cast::<Work>()) };
        work()
    }
    type Work = Box<dyn FnOnce() -> c_int + Send>;

    let (Some(thread), Some(alloc), Some(_)) = (
        libomp::global_thread_num(),
        libomp::target_task_alloc(),
        libomp::task_with_deps(),
    ) else {
        return work();
    };
    let thread = thread(std::ptr::null());
    // SAFETY: a task of this size whose entry is `run`.
    let task = unsafe {
        alloc(
            std::ptr::null(),
            thread,
            HIDDEN_HELPER,
            size_of::<Task>(),
            0,
            run,
            -1,
        )
    };
    if task.is_null() {
        return work();
    }
    let mut on: Vec<Dependence> = (0..count.max(0) as usize)
        // SAFETY: the caller's promise.
        .map(|at| unsafe { **dependences.add(at) })
        .collect();
    // SAFETY: the task is new and not shared.
    unsafe { (*task).shareds = Box::into_raw(Box::new(work)).cast() };
    // SAFETY: a new task of libomp, with a function of the host.
    unsafe { start_host_task(thread, task, &mut on) }
}

/// Waits for the dependences; returns immediately without libomp.
///
/// # Safety
/// They are arrays of libomp's dependences with the given lengths.
pub(crate) unsafe fn wait_for_dependences(
    count: i32,
    list: *mut c_void,
    more: i32,
    more_list: *mut c_void,
) {
    if count <= 0 && more <= 0 {
        return;
    }
    if let (Some(thread), Some(_)) = (libomp::global_thread_num(), libomp::wait_deps()) {
        // SAFETY: the caller's promise.
        unsafe {
            __kmpc_omp_wait_deps(
                std::ptr::null(),
                thread(std::ptr::null()),
                count,
                list.cast(),
                more,
                more_list.cast(),
            );
        }
    }
}
