//! Values that are dropped when their runtime is closed, while Python still has the objects around them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::{PyErr, Python};

use crate::detached::Detached;
use crate::error::ClosedError;

/// A value of a runtime, until the runtime is closed.
pub(crate) struct Closable<T: Send>(Mutex<Option<Detached<T>>>);

impl<T: Clone + Send> Closable<T> {
    /// Calls `act` with the value, without the GIL. The value lives until then, even if the runtime is
    /// closed meanwhile.
    ///
    /// # Errors
    /// The runtime has been closed.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&T) -> R + Send,
    ) -> Result<R, PyErr> {
        let value = {
            let value = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            value.as_ref().map(|value| value.get().clone())
        };
        let value = value.ok_or_else(|| {
            ClosedError::new_err(
                "the runtime has been closed: open another one, or use it inside its `with` block",
            )
        })?;
        // The closure owns the value, which may be the last one, and drops it without the GIL.
        Ok(py.detach(move || act(&value)))
    }
}

/// Closes a [`Closable`] of any type.
trait Close: Send + Sync {
    fn close(&self);
}

impl<T: Send> Close for Closable<T> {
    fn close(&self) {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Not with the lock held: it may wait for threads that use the value.
        drop(value);
    }
}

/// All values that are closed together.
pub(crate) struct CloseGroup(
    /// `None` when they have been closed.
    Mutex<Option<Vec<Weak<dyn Close>>>>,
);

impl CloseGroup {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }

    /// Adds a value. After the others have been closed, it is closed at once.
    pub(crate) fn add<T: Send + 'static>(&self, value: T) -> Arc<Closable<T>> {
        let value = Arc::new(Closable(Mutex::new(Some(Detached::new(value)))));
        let close: Arc<dyn Close> = value.clone();
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *members {
            Some(members) => {
                members.retain(|member| member.strong_count() > 0);
                members.push(Arc::downgrade(&close));
            }
            None => {
                drop(members);
                close.close();
            }
        }
        value
    }

    /// Closes all values. One that is in use lives until its use ends.
    pub(crate) fn close(&self) {
        let members = {
            let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            members.take().unwrap_or_default()
        };
        // The last first: a kernel before its program, that before the runtime.
        for member in members.iter().rev().filter_map(Weak::upgrade) {
            member.close();
        }
    }
}
