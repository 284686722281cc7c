//! Tasks that were spawned.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use super::error::TaskError;
use super::graph::Family;
use super::shared::Shared;
use super::slab::Id;
use crate::base::lock::lock;

/// What a task is worth to who waits for it.
pub(super) enum Value<T> {
    /// This, whenever.
    Known(T),
    /// What it leaves here.
    Left(Arc<Mutex<Option<T>>>),
}

/// A task that was spawned. Dropping it changes nothing.
pub struct TaskHandle<'scope, T> {
    pub(super) shared: Arc<Shared>,
    pub(super) id: Id,
    /// Taken by `wait`.
    pub(super) value: Option<Value<T>>,
    pub(super) scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> TaskHandle<'_, T> {
    /// How the task ended; `None` if it has not.
    #[must_use]
    pub fn result(&self) -> Option<Result<(), TaskError>> {
        let outcome = self.shared.state().graph.outcome(self.id)?;
        Some(outcome.map_err(|error| (*error).clone()))
    }

    /// Waits until the task has ended, and runs host tasks meanwhile; in a host function it
    /// serves calls, too. Returns what a host task returned.
    ///
    /// # Errors
    /// It has failed.
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
