//! What is known of a task from its allocation, before it has dependences. libomp keeps it, and
//! shows it to nobody.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::abi::libomp::{DETACHABLE, TIED, Task};

/// What kind of task it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A task of the host that has ended when its function returns.
    Host,
    /// One that libomp alone sees end: it can be left and taken up again, or ends by an event.
    Untied,
    /// A target task, for the device with this number.
    Target(i64),
}

thread_local! {
    /// Those that are not of the host, by their address. Who allocates one hands it to libomp.
    static KINDS: RefCell<HashMap<usize, Kind>> = RefCell::default();
}

/// Notes a task of the host.
pub(super) fn note(task: *mut Task, flags: i32) {
    let is_plain = flags & TIED != 0 && flags & DETACHABLE == 0;
    KINDS.with_borrow_mut(|kinds| {
        if !is_plain {
            kinds.insert(task.addr(), Kind::Untied);
        } else if !kinds.is_empty() {
            // It may lie where another was that had no dependences.
            kinds.remove(&task.addr());
        }
    });
}

/// Notes a target task.
pub(super) fn note_target(task: *mut Task, device: i64) {
    KINDS.with_borrow_mut(|kinds| kinds.insert(task.addr(), Kind::Target(device)));
}

/// What was noted of a task.
pub(super) fn take(task: *mut Task) -> Kind {
    let noted = KINDS.with_borrow_mut(|kinds| kinds.remove(&task.addr()));
    noted.unwrap_or(Kind::Host)
}
