//! The kind of a task, which is known only at its allocation, before it has dependences.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::abi::libomp::{DETACHABLE, TIED, Task};

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskKind {
    /// A task of the host that ends when its function returns.
    Host,
    /// A task whose end only libomp sees: it can be suspended, or ends by an event.
    Untied,
    /// A target task, for the device with this number.
    Target(i64),
}

thread_local! {
    /// Kinds other than `Host`, by the task's address. The allocating thread starts the task.
    static KINDS: RefCell<HashMap<usize, TaskKind>> = RefCell::default();
}

/// Records a task of the host.
pub(super) fn note(task: *mut Task, flags: i32) {
    let is_plain = flags & TIED != 0 && flags & DETACHABLE == 0;
    KINDS.with_borrow_mut(|kinds| {
        if !is_plain {
            kinds.insert(task.addr(), TaskKind::Untied);
        } else if !kinds.is_empty() {
            // An earlier task without dependences may have had its address.
            kinds.remove(&task.addr());
        }
    });
}

/// Records a target task.
pub(super) fn note_target(task: *mut Task, device: i64) {
    KINDS.with_borrow_mut(|kinds| kinds.insert(task.addr(), TaskKind::Target(device)));
}

/// Removes and returns the kind of a task.
pub(super) fn take(task: *mut Task) -> TaskKind {
    let noted = KINDS.with_borrow_mut(|kinds| kinds.remove(&task.addr()));
    noted.unwrap_or(TaskKind::Host)
}
