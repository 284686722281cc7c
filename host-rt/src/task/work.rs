//! The work of a task.

use std::fmt::Display;

use super::error::{TaskError, TaskName};
use crate::device::Queue;
use crate::runtime::{Launch, RuntimeError};

/// The work of a host task; it gets the task's name for its errors.
pub(super) type HostWork<'a> = Box<dyn FnOnce(TaskName) -> Result<(), TaskError> + Send + 'a>;

/// Queues the operations of a target task, once or, after an unrelated failure, again. Calls no
/// foreign code but the log's subscriber, since the queue is locked meanwhile.
pub(super) type TargetWork<'a> =
    Box<dyn FnMut(&mut dyn Queue) -> Result<Option<Launch>, RuntimeError> + Send + 'a>;

/// The work of a task.
pub(super) enum Work<'a> {
    Host(HostWork<'a>),
    /// On the device with this number in the scope.
    Target(u32, TargetWork<'a>),
}

impl Work<'_> {
    /// The same, without the lifetime of its borrows.
    ///
    /// # Safety
    /// It is used and dropped before the end of its borrows.
    pub(super) unsafe fn unbound(self) -> Work<'static> {
        // SAFETY: the types differ only in lifetimes, for which the caller vouches.
        unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(self) }
    }
}

/// Runs a host task's function. The caller of the work catches its panics, including those of
/// displaying or dropping its result or error.
pub(super) fn run<T, E: Display>(
    task: TaskName,
    function: impl FnOnce() -> Result<T, E>,
) -> Result<T, TaskError> {
    function().map_err(|error| TaskError::Failed {
        task,
        message: error.to_string(),
    })
}
