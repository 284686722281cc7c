//! Values that are dropped early, such as when their runtime is closed, while Python still has the objects around
//! them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::{PyErr, Python};

use crate::detached::Detached;
use crate::error::ClosedError;

/// A value of a runtime, until it is closed.
pub(crate) struct Closable<T: Send>(Mutex<Result<Detached<T>, Closed>>);

/// Why a value is there no more.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum Closed {
    #[error("the runtime has been closed: open another one, or use it inside its `with` block")]
    Runtime,
    #[error("the device array has been freed: free it after its last use, and once")]
    Array,
}

impl From<Closed> for PyErr {
    fn from(closed: Closed) -> Self {
        ClosedError::new_err(closed.to_string())
    }
}

impl<T: Clone + Send> Closable<T> {
    /// The value, which the result keeps even if it is closed meanwhile.
    pub(crate) fn get(&self) -> Result<T, Closed> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*value {
            Ok(value) => Ok(value.get().clone()),
            Err(closed) => Err(*closed),
        }
    }

    /// Calls `act` with the value, without the GIL. The value lives until then, even if it is closed
    /// meanwhile.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&T) -> R + Send,
    ) -> Result<R, PyErr> {
        let value = self.get()?;
        // The closure owns the value, which may be the last one, and drops it without the GIL.
        Ok(py.detach(move || act(&value)))
    }
}

/// Closes a [`Closable`] of any type.
pub(crate) trait Close: Send + Sync {
    /// Drops the value.
    ///
    /// # Errors
    /// It has been closed before.
    fn close(&self, reason: Closed) -> Result<(), Closed>;
}

impl<T: Send> Close for Closable<T> {
    fn close(&self, reason: Closed) -> Result<(), Closed> {
        let mut value = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(closed) = &*value {
            return Err(*closed);
        }
        let open = std::mem::replace(&mut *value, Err(reason));
        // Not with the lock held: the drop may wait for threads that use the value.
        drop(value);
        drop(open);
        Ok(())
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
        let value = Arc::new(Closable(Mutex::new(Ok(Detached::new(value)))));
        let close: Arc<dyn Close> = value.clone();
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *members {
            Some(members) => {
                members.retain(|member| member.strong_count() > 0);
                members.push(Arc::downgrade(&close));
            }
            None => {
                drop(members);
                let _ = close.close(Closed::Runtime);
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
            // A freed array has been closed before.
            let _ = member.close(Closed::Runtime);
        }
    }
}
