//! Values that another thread will provide, or the reason why it cannot.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use crate::base::lock::{lock, wait, wait_until};
use crate::device::{DeviceError, Fault};

/// The default reason for a missing value: only the application's log subscriber panics.
pub(super) const PANICKED: &str = "a subscriber of the log panicked before it was queued";

/// A value that a thread will provide.
pub(super) struct Promised<T> {
    value: Mutex<Option<T>>,
    is_there: Condvar,
}

impl<T: Clone> Promised<T> {
    pub(super) fn get(&self) -> Option<T> {
        lock(&self.value).clone()
    }

    /// Waits for the value; `None` if there is none at `until`.
    pub(super) fn wait(&self, until: Option<Instant>) -> Option<T> {
        let mut value = lock(&self.value);
        while value.is_none() {
            value = match until {
                None => wait(&self.is_there, value),
                Some(until) => wait_until(&self.is_there, value, until).ok()?,
            };
        }
        value.clone()
    }

    fn set(&self, value: T) {
        *lock(&self.value) = Some(value);
        self.is_there.notify_all();
    }
}

/// The obligation to provide a value. If it is dropped, waiters get a substitute.
pub(super) struct Promise<T: Clone, F: FnOnce(Fault) -> T> {
    promised: Arc<Promised<T>>,
    /// Makes the substitute from the reason.
    otherwise: Option<F>,
}

/// A promise, and the waiter's side of it.
pub(super) fn promise<T: Clone, F: FnOnce(Fault) -> T>(
    otherwise: F,
) -> (Promise<T, F>, Arc<Promised<T>>) {
    let promised = Arc::new(Promised {
        value: Mutex::new(None),
        is_there: Condvar::new(),
    });
    let promise = Promise {
        promised: Arc::clone(&promised),
        otherwise: Some(otherwise),
    };
    (promise, promised)
}

impl<T: Clone, F: FnOnce(Fault) -> T> Promise<T, F> {
    pub(super) fn keep(mut self, value: Result<T, DeviceError>) -> Result<(), DeviceError> {
        match value {
            Ok(value) => {
                self.otherwise = None;
                self.promised.set(value);
                Ok(())
            }
            Err(error) => {
                self.break_with(Fault::from(&error));
                Err(error)
            }
        }
    }

    fn break_with(&mut self, reason: Fault) {
        if let Some(otherwise) = self.otherwise.take() {
            self.promised.set(otherwise(reason));
        }
    }
}

impl<T: Clone, F: FnOnce(Fault) -> T> Drop for Promise<T, F> {
    fn drop(&mut self) {
        self.break_with(PANICKED.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_that_is_dropped_says_why() {
        let (kept, value) = promise(|fault| fault.to_string());
        kept.keep(Ok("here".to_owned())).unwrap();
        assert_eq!(value.wait(None).unwrap(), "here");
        let (broken, value) = promise(|fault| fault.to_string());
        assert_eq!(value.wait(Some(Instant::now())), None);
        drop(broken);
        assert_eq!(value.wait(None).unwrap(), PANICKED);
    }
}
