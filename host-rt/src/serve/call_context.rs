//! The call that a thread serves, and the server for which it does.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::Server;
use crate::base::sync::thread_local;

/// The call that a host function serves, as identified by the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallContext {
    /// The [`Launch::id`](crate::Launch::id) of the calling launch; 0 if the wire does not contain
    /// it (images built by GCC).
    pub launch: u32,
}

thread_local! {
    static CALL: Cell<Option<CallContext>> = const { Cell::new(None) };
    /// The server whose calls this thread serves.
    static SERVER: RefCell<Option<Arc<Server>>> = const { RefCell::new(None) };
}

/// Makes a call the one that this thread serves, until it is dropped.
pub(super) struct CallGuard {
    /// The call before, in which this one is nested.
    outer: Option<CallContext>,
}

impl CallGuard {
    pub(super) fn enter(call: CallContext) -> Self {
        Self {
            outer: CALL.with(|current| current.replace(Some(call))),
        }
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        CALL.with(|current| current.set(self.outer));
    }
}

/// Runs `act`, during which this thread serves calls of `server`.
pub(super) fn with_server<R>(server: &Arc<Server>, act: impl FnOnce() -> R) -> R {
    fn exchange(server: Option<Arc<Server>>) -> Option<Arc<Server>> {
        SERVER.with(|current| current.replace(server))
    }
    /// Restores the previous server.
    struct Restore(Option<Arc<Server>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            // Dropped after the cell is released: it may be the last owner, and its drop runs code
            // of the application.
            drop(exchange(self.0.take()));
        }
    }
    let _restore = Restore(exchange(Some(Arc::clone(server))));
    act()
}

/// In a host function, the server of its runtime.
pub(super) fn current_server() -> Option<Arc<Server>> {
    let server = SERVER.with(|server| server.borrow().clone());
    server.filter(|_| current_call().is_some())
}

/// The call that the running host function serves; `None` outside one.
#[must_use]
pub fn current_call() -> Option<CallContext> {
    CALL.with(Cell::get)
}
