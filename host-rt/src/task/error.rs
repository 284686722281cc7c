//! Failures of tasks, and their propagation to dependent tasks.

use std::fmt;
use std::sync::Arc;

use crate::base::debug_as_display;
use crate::device::DeviceAddr;
use crate::runtime::RuntimeError;
use crate::services::ServicesError;

/// A task's name in messages: its number, in the order of spawning, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    pub(super) number: u32,
    pub(super) name: Option<Arc<str>>,
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "task `{name}`"),
            None => write!(f, "task {}", self.number),
        }
    }
}

/// A failed task. Cheap to clone.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// Its kernel or its copy failed.
    #[error("{task}: {cause}")]
    Device {
        /// The task.
        task: TaskName,
        /// The reason.
        cause: Arc<RuntimeError>,
    },
    /// A host task returned an error.
    #[error("{task} failed: {message}")]
    Failed {
        /// The task.
        task: TaskName,
        /// Its error.
        message: String,
    },
    /// A host task panicked.
    #[error("{task} panicked: {message}")]
    Panicked {
        /// The task.
        task: TaskName,
        /// The panic's message.
        message: String,
    },
    /// A task that it depends on failed. It has not been run; or if the device resolved the
    /// dependency, its results are discarded.
    #[error("{0}")]
    Dependency(DependencyError),
    /// Its group was cancelled before it started, or before it was spawned: see
    /// [`Group::is_cancelled`](super::Group::is_cancelled).
    #[error("{task} was cancelled with its group before it started")]
    Cancelled {
        /// The task.
        task: TaskName,
    },
    /// A parameter of its kernel is a buffer of another runtime. It has not been spawned.
    #[error(
        "{task} cannot be spawned: kernel `{kernel}` runs on device `{device}`, and the buffer at \
         {buffer} is of another runtime, on device `{buffer_device}`: allocate it with the runtime \
         that has loaded the kernel"
    )]
    BufferOfOtherRuntime {
        /// The task.
        task: TaskName,
        /// The kernel.
        kernel: String,
        /// The kernel's device.
        device: String,
        /// The buffer.
        buffer: DeviceAddr,
        /// The buffer's device.
        buffer_device: String,
    },
    /// It depends on a value without bytes. It has not been spawned.
    #[error(
        "{task} cannot be spawned: it depends on a value without bytes, which has no address of \
         its own: use one that has some"
    )]
    ZeroSizedDependency {
        /// The task.
        task: TaskName,
    },
}

impl TaskError {
    /// The task that failed.
    #[must_use]
    pub fn task(&self) -> &TaskName {
        match self {
            Self::Device { task, .. }
            | Self::Failed { task, .. }
            | Self::Panicked { task, .. }
            | Self::Cancelled { task }
            | Self::BufferOfOtherRuntime { task, .. }
            | Self::ZeroSizedDependency { task } => task,
            Self::Dependency(error) => &error.chain.task,
        }
    }

    /// The origin of the failure: this error, or that of the task at the other end of the chain.
    #[must_use]
    pub fn first_cause(&self) -> &TaskError {
        match self {
            Self::Dependency(error) => &error.first,
            error => error,
        }
    }

    /// The error of a task that depends on one with this error.
    pub(super) fn passed_on(&self, task: TaskName) -> Self {
        let (on, first) = match self {
            Self::Dependency(error) => (Some(error.chain.clone()), Arc::clone(&error.first)),
            first => (None, Arc::new(first.clone())),
        };
        let length = on.as_ref().map_or(1, |on| on.length + 1);
        Self::Dependency(DependencyError {
            chain: Arc::new(Chain { task, on, length }),
            first,
        })
    }
}

debug_as_display!(TaskError);

/// Any error of this crate's functions. Defined in the topmost layer, since [`scope`](super::scope)
/// returns it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// See [`RuntimeError`].
    #[error(transparent)]
    Runtime(RuntimeError),
    /// See [`ServicesError`].
    #[error(transparent)]
    Services(#[from] ServicesError),
    /// See [`TaskError`].
    #[error(transparent)]
    Task(#[from] TaskError),
}

debug_as_display!(Error);

/// A [`RuntimeError`], or an error that one wraps.
impl<E: Into<RuntimeError>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Runtime(error.into())
    }
}

/// The result of functions that use runtimes and tasks.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The chain from a task to the first cause of its failure.
#[derive(Clone, Debug)]
pub struct DependencyError {
    chain: Arc<Chain>,
    first: Arc<TaskError>,
}

/// Tasks, each of which depends on the next.
#[derive(Debug)]
struct Chain {
    task: TaskName,
    on: Option<Arc<Chain>>,
    length: usize,
}

impl Drop for Chain {
    /// Not recursive, since a chain may be longer than the stack.
    fn drop(&mut self) {
        let mut next = self.on.take();
        while let Some(mut chain) = next.and_then(Arc::into_inner) {
            next = chain.on.take();
        }
    }
}

impl DependencyError {
    /// The tasks between, from the last one that failed to the one that depends on the first cause.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskName> {
        std::iter::successors(Some(&*self.chain), |chain| chain.on.as_deref())
            .map(|chain| &chain.task)
    }
}

/// The maximum number of tasks that a message names.
const NAMED: usize = 8;

impl fmt::Display for DependencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was given up: {}", self.chain.task, self.first)?;
        for (index, task) in self.tasks().skip(1).take(NAMED).enumerate() {
            let before = if index == 0 {
                " (it depends on that through "
            } else {
                ", "
            };
            write!(f, "{before}{task}")?;
        }
        match self.chain.length.saturating_sub(1 + NAMED) {
            0 if self.chain.length > 1 => f.write_str(")"),
            0 => Ok(()),
            more => write!(f, " and {more} more)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u32) -> TaskName {
        TaskName { number, name: None }
    }

    #[test]
    fn a_chain_is_named_up_to_its_cause() {
        let first = TaskError::Failed {
            task: TaskName {
                number: 0,
                name: Some("load".into()),
            },
            message: "no file".to_owned(),
        };
        let error = first.passed_on(name(1)).passed_on(name(2));
        assert_eq!(
            error.to_string(),
            "task 2 was given up: task `load` failed: no file (it depends on that through task 1)"
        );
        assert!(matches!(error.first_cause(), TaskError::Failed { .. }));
    }

    #[test]
    fn a_long_chain_fits_a_message_and_a_stack() {
        let mut error = TaskError::Cancelled { task: name(0) };
        for number in 1..300_000 {
            error = error.passed_on(name(number));
        }
        let text = error.to_string();
        assert!(text.contains("299990 more"), "{text}");
        assert!(text.len() < 1000);
    }
}
