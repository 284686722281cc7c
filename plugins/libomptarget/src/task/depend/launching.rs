//! Predictions of tasks that enqueue a kernel without waiting.

use std::collections::HashSet;
use std::sync::RwLock;

use crate::abi::libomp::TaskEntry;
use crate::locks::{read, write};

/// Functions of tasks that only launched a kernel when they last ran. For a construct whose
/// condition is false compilers call another function, which runs the region on the host.
static LAUNCHING: RwLock<Option<HashSet<usize>>> = RwLock::new(None);

/// Whether a task with this function is predicted to enqueue a kernel without waiting.
pub(super) fn is_launching(routine: TaskEntry) -> bool {
    let known = read(&LAUNCHING);
    let known = known.as_ref();
    known.is_some_and(|known| known.contains(&(routine as usize)))
}

/// Forgets all predictions: some functions have been unloaded.
pub(crate) fn forget_routines() {
    *write(&LAUNCHING) = None;
}

/// Records whether a function has enqueued a kernel without waiting.
pub(super) fn note(routine: TaskEntry, launches: bool) {
    if is_launching(routine) == launches {
        return;
    }
    let routine = routine as usize;
    let mut known = write(&LAUNCHING);
    let known = known.get_or_insert_default();
    if launches {
        known.insert(routine);
    } else {
        known.remove(&routine);
    }
}
