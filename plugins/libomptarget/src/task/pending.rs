//! Constructs with `nowait` that continue while their task is suspended.
//!
//! libomp runs such a construct as a task. The runtime may store a handle in the task and return;
//! libomp then runs other tasks, and polls the handle until the construct is done.

use std::ffi::c_void;
use std::time::Duration;

use revoff_host::Launch;
use revoff_host::LaunchError;

use crate::abi::libomp;
use crate::report::message;

/// Polls of a task before the thread waits.
const POLLS: u32 = 10;

/// The completion of a kernel, with its result. Any thread of libomp may call it.
type Finish = Box<dyn FnOnce(Result<(), LaunchError>) + Send>;

/// A kernel in flight, and its completion.
pub(crate) struct PendingLaunch {
    launch: Launch,
    finish: Option<Finish>,
    polls: u32,
}

impl PendingLaunch {
    pub(crate) fn new(
        launch: Launch,
        finish: impl FnOnce(Result<(), LaunchError>) + Send + 'static,
    ) -> Self {
        Self {
            launch,
            finish: Some(Box::new(finish)),
            polls: 0,
        }
    }

    /// Calls `then` after the completion so far.
    pub(crate) fn and_then(mut self, then: impl FnOnce() + Send + 'static) -> Self {
        let finish = self.finish.take();
        self.finish = Some(Box::new(move |ended| {
            if let Some(finish) = finish {
                finish(ended);
            }
            then();
        }));
        self
    }

    /// Restarts its timer: it had to wait for others.
    pub(crate) fn restart_time(&mut self) {
        self.launch.restart_time();
    }

    /// Whether the kernel has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.launch.is_done()
    }

    /// Waits for its end, and completes it.
    pub(crate) fn wait(mut self) {
        let ended = self.launch.wait().map(drop);
        if let Some(finish) = self.finish.take() {
            finish(ended);
        }
    }
}

/// The handle of the running task; `None` if it cannot be resumed.
pub(crate) fn handle() -> Option<*mut *mut c_void> {
    libomp::task_handle()
}

/// Stores a pending launch in the task.
///
/// # Safety
/// The handle is the running task's.
pub(crate) unsafe fn put(handle: *mut *mut c_void, pending: PendingLaunch) {
    let pending = Box::into_raw(Box::new(pending));
    // SAFETY: the caller's promise; libomp passes it to `query` only.
    unsafe { *handle = pending.cast() };
}

/// Polls a task's pending launch, and completes it if it is done.
///
/// # Safety
/// The handle is that of a task in which [`put`] stored a launch.
pub(crate) unsafe fn query(handle: *mut *mut c_void) {
    // SAFETY: the caller's promise.
    if handle.is_null() || unsafe { *handle }.is_null() {
        message::fatal(
            1,
            "Receive an invalid async handle from the current OpenMP task. Is this a target nowait region?\n",
        );
    }
    // SAFETY: `put` stored it; one thread at a time has the task.
    let pending = unsafe { &mut *(*handle).cast::<PendingLaunch>() };
    if !pending.launch.is_done() && pending.polls < POLLS {
        // Lets other tasks run, longer each time.
        std::thread::sleep(Duration::from_micros(1 << pending.polls));
        pending.polls += 1;
        return;
    }
    // SAFETY: `put` stored it, and it is removed from the task, so it is freed once.
    let pending = unsafe {
        Box::from_raw(std::mem::replace(&mut *handle, std::ptr::null_mut()).cast::<PendingLaunch>())
    };
    pending.wait();
}
