//! What a task does.

use std::fmt::Display;

use super::error::{TaskError, TaskName};
use crate::device::Queue;
use crate::runtime::{Error, Launch};

/// What a host task does; it has the task's name for its errors.
pub(super) type HostWork<'a> = Box<dyn FnOnce(TaskName) -> Result<(), TaskError> + Send + 'a>;

/// Puts what a target task does into a queue, once or, where that came to nothing, again.
/// Calls nothing that is not ours, since the queue is locked meanwhile.
pub(super) type TargetWork<'a> =
    Box<dyn FnMut(&mut dyn Queue) -> Result<Option<Launch>, Error> + Send + 'a>;

/// What a task does.
pub(super) enum Work<'a> {
    Host(HostWork<'a>),
    /// On the device with this number in the scope.
    Target(u32, TargetWork<'a>),
}

impl Work<'_> {
    /// The same, for those who do not ask how long it may be used.
    ///
    /// # Safety
    /// It is used and dropped while what it borrows lives.
    pub(super) unsafe fn unbound(self) -> Work<'static> {
        // SAFETY: the types differ in lifetimes alone, which the caller answers for.
        unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(self) }
    }
}

/// Runs a host task's function. The caller of the work catches its panics, also where its
/// result or its error is displayed or dropped.
pub(super) fn run<T, E: Display>(
    task: TaskName,
    function: impl FnOnce() -> Result<T, E>,
) -> Result<T, TaskError> {
    function().map_err(|error| TaskError::Failed {
        task,
        message: error.to_string(),
    })
}
