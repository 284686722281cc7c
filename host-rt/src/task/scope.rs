//! Scopes, in which tasks are spawned and which outlive all of them.

use std::fmt::Display;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::args::TaskArgs;
use super::error::{Result, TaskError};
use super::graph::{Executor, Family, Resolve, Stats};
use super::group::Group;
use super::handle::Value;
use super::shared::Shared;
use super::spawn::{Invalid, Task};
use super::work::{Work, run};
use crate::base::sync::{Mutex, lock};
use crate::device::{Grid, Params};
use crate::runtime::{DeviceBuffer, Kernel, Launch, Runtime, RuntimeError};

/// The default limit of threads that run host tasks of a scope, on a machine with enough
/// processors.
const MOST_THREADS: usize = 8;

/// The default number of queues of a device that a scope uses.
const QUEUES: usize = 8;

/// The maximum number of queues of a device, since each has a thread.
const MOST_QUEUES: usize = 128;

/// Options of a scope.
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    resolve: Resolve,
    threads: usize,
    queues: usize,
}

impl Default for Options {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            resolve: Resolve::OnDevice,
            threads: processors.min(MOST_THREADS),
            queues: QUEUES,
        }
    }
}

impl Options {
    /// Chooses the party that orders target tasks which depend on target tasks. Default: the
    /// device.
    pub fn resolve(mut self, resolve: Resolve) -> Self {
        self.resolve = resolve;
        self
    }

    /// The maximum number of threads that run host tasks, besides those that wait for tasks; at
    /// least 1. Default: one for each processor, at most 8.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// The maximum number of queues of each device, from 1 to 128; higher values count as 128. Each
    /// has a thread that waits for its operations. Default: 8. Independent tasks run at the same
    /// time only in different queues.
    pub fn queues(mut self, queues: usize) -> Self {
        self.queues = queues.clamp(1, MOST_QUEUES);
        self
    }

    /// Like [`scope`], with these options.
    ///
    /// # Errors
    /// As for [`scope`].
    pub fn scope<'env, F, T>(self, body: F) -> Result<T>
    where
        F: for<'scope> FnOnce(&'scope Tasks<'scope, 'env>) -> Result<T>,
    {
        let tasks = Tasks {
            shared: Shared::new(self.resolve, self.threads, self.queues),
            scope: PhantomData,
            env: PhantomData,
        };
        let result = catch_unwind(AssertUnwindSafe(|| body(&tasks)));
        let finished = tasks.shared.finish();
        match result {
            Err(panic) => resume_unwind(panic),
            Ok(Err(error)) => Err(error),
            Ok(Ok(value)) => {
                finished?;
                Ok(value)
            }
        }
    }
}

/// Calls `body`, which spawns tasks, and waits for all of them, even if it fails or panics. Tasks
/// can borrow variables from outside.
///
/// # Errors
/// The error of `body`, otherwise the first of a task.
pub fn scope<'env, F, T>(body: F) -> Result<T>
where
    F: for<'scope> FnOnce(&'scope Tasks<'scope, 'env>) -> Result<T>,
{
    Options::default().scope(body)
}

/// Spawns tasks: see [`scope`].
///
/// The thread that spawns a task decides its parent and group. Tasks spawned by a host task's own
/// thread are that task's children. Tasks spawned by the body's thread within
/// [`group`](Self::group) belong to that group. Tasks spawned by any other thread, such as one of
/// [`std::thread::scope`], are siblings of the body's tasks, in no group.
pub struct Tasks<'scope, 'env: 'scope> {
    shared: Arc<Shared>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope, 'env> Tasks<'scope, 'env> {
    /// A task that runs `function` on a thread of the host. The [handle](super::TaskHandle::wait)
    /// returns its result. It may spawn tasks itself, which are siblings of each other, and wait
    /// for them.
    pub fn host<T, F>(&'scope self, function: F) -> Task<'scope, 'scope, T>
    where
        T: Send + 'scope,
        F: FnOnce() -> T + Send + 'scope,
    {
        self.try_host(move || Ok::<T, std::convert::Infallible>(function()))
    }

    /// Like [`host`](Self::host), for a function that can fail, which fails the task.
    pub fn try_host<T, E, F>(&'scope self, function: F) -> Task<'scope, 'scope, T>
    where
        T: Send + 'scope,
        E: Display,
        F: FnOnce() -> std::result::Result<T, E> + Send + 'scope,
    {
        let slot = Arc::new(Mutex::new(None));
        let left = Arc::clone(&slot);
        let work = Box::new(move |task| {
            let value = run(task, function)?;
            *lock(&left) = Some(value);
            Ok(())
        });
        self.task(Executor::Host, Work::Host(work), Value::Left(slot))
    }

    /// A task that runs a kernel on its device. `args` do not declare how the kernel accesses them:
    /// use [`Task::reads`] and the other methods.
    ///
    /// A kernel may wait for a host function, and for tasks that were spawned before it and do not
    /// depend on it; not for a task that is spawned later.
    ///
    /// # Safety
    /// As for [`Kernel::launch`], at any time when the task may run: the dependencies must order
    /// the kernel's memory accesses with those of other tasks.
    pub unsafe fn target<A: TaskArgs + 'scope>(
        &'scope self,
        kernel: &'scope Kernel,
        grid: Grid,
        args: A,
    ) -> Task<'scope, 'scope, ()> {
        let runtime = kernel.runtime();
        let mut invalid: Option<Invalid> = None;
        let mut params = Params::default();
        args.each(&mut |arg| {
            arg.arg().push_to(&mut params);
            let elsewhere = arg.buffer().filter(|buffer| !buffer.runtime().is(&runtime));
            if let Some(buffer) = elsewhere {
                invalid.get_or_insert_with(|| of_other_runtime(kernel, buffer));
            }
        });
        let mut task = self.on_device(&runtime, move |queue| {
            // They may own the memory whose addresses are parameters.
            let _kept = &args;
            // SAFETY: the caller's promise, and the queue is of the kernel's device.
            unsafe { kernel.start_in(queue, None, grid, &params) }.map(Some)
        });
        task.invalid = invalid;
        task
    }

    /// A task that copies `data` to byte offset `at` of `buffer`. On `cuda`, the driver may block
    /// the caller of a copy above about 256 KiB until the copy's turn comes.
    pub fn write<T: IntoBytes + Immutable>(
        &'scope self,
        buffer: &'scope DeviceBuffer,
        at: u64,
        data: &'scope [T],
    ) -> Task<'scope, 'scope, ()> {
        let bytes: &'scope [u8] = data.as_bytes();
        self.on_device(&buffer.runtime(), move |queue| {
            let address = buffer.range(at, bytes.len() as u64)?;
            // SAFETY: `bytes` is borrowed for the scope, which waits for the copy.
            unsafe { queue.copy_to_device(address, bytes.as_ptr(), bytes.len())? };
            Ok(None)
        })
    }

    /// A task that copies from byte offset `at` of `buffer` to `data`, which has the bytes when the
    /// scope has ended. On `cuda`, see [`write`](Self::write).
    pub fn read<T: IntoBytes + FromBytes>(
        &'scope self,
        buffer: &'scope DeviceBuffer,
        at: u64,
        data: &'scope mut [T],
    ) -> Task<'scope, 'scope, ()> {
        let bytes: &'scope mut [u8] = data.as_mut_bytes();
        self.on_device(&buffer.runtime(), move |queue| {
            let address = buffer.range(at, bytes.len() as u64)?;
            // SAFETY: `bytes` is borrowed for the scope, which waits for the copy, and by
            // this task alone.
            unsafe { queue.copy_from_device(bytes.as_mut_ptr(), address, bytes.len())? };
            Ok(None)
        })
    }

    fn on_device(
        &'scope self,
        runtime: &Runtime,
        work: impl FnMut(&mut dyn crate::device::Queue) -> Result<Option<Launch>, RuntimeError>
        + Send
        + 'scope,
    ) -> Task<'scope, 'scope, ()> {
        let (number, domain) = self.shared.devices.number_of(runtime);
        let work = Work::Target(number, Box::new(work));
        self.task(Executor::Target(domain), work, Value::Known(()))
    }

    fn task<T>(
        &'scope self,
        executor: Executor,
        work: Work<'scope>,
        value: Value<T>,
    ) -> Task<'scope, 'scope, T> {
        Task {
            shared: &self.shared,
            executor,
            work,
            value,
            name: None,
            accesses: Vec::new(),
            invalid: None,
            scope: PhantomData,
        }
    }

    /// Waits for the tasks spawned so far: in the scope's body for the body's tasks, in a host task
    /// for that task's children; not for their children. Runs host tasks meanwhile, and serves
    /// calls in a host function. OpenMP's `taskwait`.
    ///
    /// # Errors
    /// The first error of one of them, again each time.
    pub fn wait(&self) -> std::result::Result<(), TaskError> {
        let mut state = self.shared.state();
        let (frame, _) = self.shared.home(&mut state.graph);
        drop(state);
        let error = self.shared.wait(Family::Frame(frame), |graph| {
            let (unfinished, error) = graph.children(frame);
            (unfinished == 0).then_some(error)
        });
        error.map_or(Ok(()), |error| Err((*error).clone()))
    }

    /// Calls `body`, and waits for the tasks spawned in it and all their descendants. OpenMP's
    /// `taskgroup`.
    ///
    /// # Errors
    /// The error of `body`, otherwise the first of one of these tasks, except for those that were
    /// cancelled with the group.
    pub fn group<T>(&self, body: impl FnOnce(&Group) -> Result<T>) -> Result<T> {
        let mut state = self.shared.state();
        let (frame, parent) = self.shared.home(&mut state.graph);
        let id = state.graph.open_group(parent);
        drop(state);
        let group = Group {
            shared: Arc::clone(&self.shared),
            id,
            cancelled: Arc::default(),
        };
        let body = AssertUnwindSafe(|| self.shared.in_group(frame, id, || body(&group)));
        let result = catch_unwind(body);
        let error = self.shared.wait(Family::Group(id), |graph| {
            let (unfinished, error) = graph.members(id);
            (unfinished == 0).then_some(error)
        });
        group.close();
        match (result, error) {
            (Err(panic), _) => resume_unwind(panic),
            (Ok(Ok(_)), Some(error)) => Err((*error).clone().into()),
            (Ok(result), _) => result,
        }
    }

    /// The counters of this scope.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }
}

/// The error of a target task that passes `buffer` to `kernel`, which another runtime has loaded.
fn of_other_runtime(kernel: &Kernel, buffer: &DeviceBuffer) -> Invalid {
    let name = kernel.declaration().name.clone();
    let device = kernel.runtime().device_name().to_owned();
    let buffer_device = buffer.runtime().device_name().to_owned();
    let buffer = buffer.address();
    Box::new(move |task| TaskError::BufferOfOtherRuntime {
        task,
        kernel: name,
        device,
        buffer,
        buffer_device,
    })
}
