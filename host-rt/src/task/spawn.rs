//! Builders of tasks.

use std::marker::PhantomData;
use std::sync::Arc;

use super::error::{TaskError, TaskName};
use super::graph::{Executor, New};
use super::handle::{TaskHandle, Value};
use super::rules::Access;
use super::shared::Shared;
use super::work::Work;
use crate::base::span::may_be_wanted;

/// The error of a task that cannot be spawned.
pub(super) type Invalid = Box<dyn FnOnce(TaskName) -> TaskError + Send>;

/// A task under construction, with its dependencies and its name. It does not exist until
/// [`spawn`](Self::spawn).
///
/// Dependencies are on *places*: values that the scope borrows, such as a
/// [`DeviceBuffer`](crate::DeviceBuffer), an element of an array of them, or anything else; only
/// the address of the value matters, not its contents. They order the tasks that the same task (or
/// the scope's body) spawns, as OpenMP's `depend` does. A task that uses a place in two ways
/// [updates](Self::updates) it.
#[must_use = "a task is spawned by `spawn`"]
pub struct Task<'tasks, 'scope, T> {
    pub(super) shared: &'tasks Arc<Shared>,
    pub(super) executor: Executor,
    pub(super) work: Work<'scope>,
    pub(super) value: Value<T>,
    pub(super) name: Option<Arc<str>>,
    pub(super) accesses: Vec<(usize, Access)>,
    pub(super) invalid: Option<Invalid>,
    pub(super) scope: PhantomData<&'scope mut &'scope ()>,
}

impl<'scope, T> Task<'_, 'scope, T> {
    /// Runs after the tasks that write `place`: OpenMP's `in`.
    pub fn reads<P: ?Sized>(self, place: &'scope P) -> Self {
        self.depends(Access::In, place)
    }

    /// Runs after the tasks that use `place` in any way: OpenMP's `out`.
    pub fn writes<P: ?Sized>(self, place: &'scope P) -> Self {
        self.depends(Access::Out, place)
    }

    /// Runs after the tasks that use `place` in any way: OpenMP's `inout`.
    pub fn updates<P: ?Sized>(self, place: &'scope P) -> Self {
        self.depends(Access::InOut, place)
    }

    /// Runs in any order with other tasks that do this, but not at the same time: OpenMP's
    /// `mutexinoutset`. The host enforces it, even for devices that could. A kernel that has passed
    /// its deadline and runs on excludes no others.
    pub fn updates_exclusively<P: ?Sized>(self, place: &'scope P) -> Self {
        self.depends(Access::MutexInOutSet, place)
    }

    /// May run at the same time as other tasks that do this: OpenMP's `inoutset`.
    pub fn updates_together<P: ?Sized>(self, place: &'scope P) -> Self {
        self.depends(Access::InOutSet, place)
    }

    /// Depends on `place` by `access`; the methods above call this.
    pub fn depends<P: ?Sized>(mut self, access: Access, place: &'scope P) -> Self {
        if size_of_val(place) == 0 {
            self.invalid
                .get_or_insert_with(|| Box::new(|task| TaskError::ZeroSizedDependency { task }));
        }
        let address = std::ptr::from_ref(place).cast::<u8>().addr();
        self.accesses.push((address, access));
        self
    }

    /// The task's name in messages, which by default is a number.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Spawns the task, which runs when its dependencies are done. Dropping the handle has no
    /// effect.
    ///
    /// # Errors
    /// - [`Cancelled`](TaskError::Cancelled): its group was cancelled.
    /// - [`BufferOfOtherRuntime`](TaskError::BufferOfOtherRuntime): its kernel belongs to another
    ///   runtime than a buffer.
    /// - [`ZeroSizedDependency`](TaskError::ZeroSizedDependency): it depends on a value without
    ///   bytes.
    pub fn spawn(self) -> Result<TaskHandle<'scope, T>, TaskError> {
        let has_span = may_be_wanted();
        let mut state = self.shared.state();
        let (frame, group) = self.shared.home(&mut state.graph);
        let cancelled = state
            .graph
            .is_cancelled(group)
            .then(|| -> Invalid { Box::new(|task| TaskError::Cancelled { task }) });
        if let Some(error) = self.invalid.or(cancelled) {
            let task = state.graph.next_name(&self.name);
            drop(state);
            return Err(error(task));
        }
        // SAFETY: the scope ends, and with it 'scope, by `Shared::finish`, which does not unwind
        // and returns when every task has ended and every thread of the scope is joined. Work is
        // dropped before its task counts as ended, or by the thread that ends the task: one of
        // these threads, or one in a method of the scope.
        let work = unsafe { self.work.unbound() };
        let id = state.graph.add(New {
            name: self.name,
            executor: self.executor,
            frame,
            group,
            accesses: self.accesses,
            work,
            held: true,
            waits: has_span,
        });
        if has_span {
            let graph = &state.graph;
            let named = |&id| (id, graph.name(id));
            let (name, after) = (graph.name(id), graph.effects.dependencies.iter().map(named));
            let after: Vec<_> = after.collect();
            drop(state);
            self.shared.spans.begin(id, &name, &after);
            state = self.shared.state();
            state.graph.may_start(id);
        }
        self.shared.drive(state);
        Ok(TaskHandle {
            shared: Arc::clone(self.shared),
            id,
            value: Some(self.value),
            scope: PhantomData,
        })
    }
}
