//! Values that are dropped without the GIL.

use pyo3::Python;

/// A value whose drop waits for threads that may need the GIL, such as those that serve calls: the GIL is
/// released meanwhile.
pub(crate) struct Detached<T: Send>(Option<T>);

impl<T: Send> Detached<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// The value.
    pub(crate) fn get(&self) -> &T {
        self.0.as_ref().expect("only the drop takes it")
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let Some(value) = self.0.take() else { return };
        let mut value = Some(value);
        // `None` if the interpreter is shutting down: no thread gets the GIL any more, so none holds it.
        let _ = Python::try_attach(|py| {
            let value = value.take();
            py.detach(move || drop(value));
        });
    }
}
