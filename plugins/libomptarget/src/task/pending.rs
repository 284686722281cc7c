//! Constructs with `nowait` that go on while their task is away.
//!
//! libomp runs such a construct as a task. The runtime may leave something in the task and
//! return; libomp then runs other tasks, and comes back to ask, until it is done.

use std::ffi::c_void;
use std::time::Duration;

use host_rt::Launch;

use crate::abi::libomp;
use crate::report::message;

/// Times that a thread asks before it waits.
const ASKS: u32 = 10;

/// What follows the end of a kernel, given how it ended.
/// Any thread of libomp's may do it.
type Finish = Box<dyn FnOnce(Result<(), String>) + Send>;

/// A kernel under way, and what follows its end.
pub(crate) struct Pending {
    launch: Launch,
    finish: Option<Finish>,
    asked: u32,
}

impl Pending {
    pub(crate) fn new(
        launch: Launch,
        finish: impl FnOnce(Result<(), String>) + Send + 'static,
    ) -> Self {
        Self {
            launch,
            finish: Some(Box::new(finish)),
            asked: 0,
        }
    }

    /// Has `then` follow what follows its end so far.
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

    /// Has the time begin that it may take: it had to wait for others.
    pub(crate) fn restart_time(&mut self) {
        self.launch.restart_time();
    }

    /// Whether the kernel has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.launch.is_done()
    }

    /// Waits for its end, and does what follows.
    pub(crate) fn wait(mut self) {
        let ended = self
            .launch
            .wait()
            .map(drop)
            .map_err(|error| error.to_string());
        if let Some(finish) = self.finish.take() {
            finish(ended);
        }
    }
}

/// Where the running task keeps what goes on; `None` if it cannot be resumed.
pub(crate) fn handle() -> Option<*mut *mut c_void> {
    libomp::task_handle()
}

/// Leaves what goes on in the task.
///
/// # Safety
/// The handle is the running task's.
pub(crate) unsafe fn put(handle: *mut *mut c_void, pending: Pending) {
    let pending = Box::into_raw(Box::new(pending));
    // SAFETY: the caller's promise; libomp hands it back to `query` alone.
    unsafe { *handle = pending.cast() };
}

/// Asks whether what a task has left is done, and ends it if it is.
///
/// # Safety
/// The handle is that of a task which [`put`] has left something in.
pub(crate) unsafe fn query(handle: *mut *mut c_void) {
    // SAFETY: the caller's promise.
    if handle.is_null() || unsafe { *handle }.is_null() {
        message::fatal(
            1,
            "Receive an invalid async handle from the current OpenMP task. Is this a target nowait region?\n",
        );
    }
    // SAFETY: what `put` has left; one thread at a time has the task.
    let pending = unsafe { &mut *(*handle).cast::<Pending>() };
    if !pending.launch.is_done() && pending.asked < ASKS {
        // Others get a chance, longer each time.
        std::thread::sleep(Duration::from_micros(1 << pending.asked));
        pending.asked += 1;
        return;
    }
    // SAFETY: as above; nobody finds it there any more.
    let pending = unsafe {
        Box::from_raw(std::mem::replace(&mut *handle, std::ptr::null_mut()).cast::<Pending>())
    };
    pending.wait();
}
