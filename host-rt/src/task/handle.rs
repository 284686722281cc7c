//! Handles of spawned tasks.

use std::marker::PhantomData;
use std::sync::Arc;

use super::error::TaskError;
use super::graph::Family;
use super::shared::Shared;
use super::slab::Id;
use crate::base::sync::{Mutex, lock};

/// The value that a waiter gets from a task.
pub(super) enum Value<T> {
    /// A value known from the start.
    Known(T),
    /// The place where the task leaves its result.
    Left(Arc<Mutex<Option<T>>>),
}

/// A spawned task. Dropping the handle has no effect on it.
pub struct TaskHandle<'scope, T> {
    pub(super) shared: Arc<Shared>,
    pub(super) id: Id,
    /// Taken by `wait`.
    pub(super) value: Option<Value<T>>,
    pub(super) scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> TaskHandle<'_, T> {
    /// The task's outcome; `None` if it has not ended.
    #[must_use]
    pub fn result(&self) -> Option<Result<(), TaskError>> {
        let outcome = self.shared.state().graph.outcome(self.id)?;
        Some(outcome.map_err(|error| (*error).clone()))
    }

    /// Waits until the task has ended, and runs host tasks meanwhile; in a host function it also
    /// serves calls. Returns the result of a host task.
    ///
    /// # Errors
    /// The task failed.
    pub fn wait(mut self) -> Result<T, TaskError> {
        let mut state = self.shared.state();
        let (frame, _) = self.shared.home(&mut state.graph);
        drop(state);
        let outcome = self
            .shared
            .wait(Family::Frame(frame), |graph| graph.outcome(self.id));
        outcome.map_err(|error| (*error).clone())?;
        let value = match self.value.take() {
            Some(Value::Known(value)) => Some(value),
            Some(Value::Left(slot)) => lock(&slot).take(),
            None => None,
        };
        match value {
            Some(value) => Ok(value),
            None => unreachable!("a task that ended well has left its value, for one `wait`"),
        }
    }
}

impl<T> Drop for TaskHandle<'_, T> {
    fn drop(&mut self) {
        self.shared.state().graph.release(self.id);
    }
}
