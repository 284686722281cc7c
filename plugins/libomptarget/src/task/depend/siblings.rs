//! The children of each task: dependences order siblings only.
//!
//! [`task_id`](crate::abi::libomp::task_id) identifies a parent. Another task gets the same number
//! only when all children of the first have ended, and their table is gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use revoff_host::task::Locations;

use super::lists::Depends;
use super::record::Record;
use crate::locks::lock;

/// The children of one task, until all have ended.
#[derive(Default)]
struct Siblings {
    locations: Locations<u64>,
    live: HashMap<u64, Arc<Record>>,
    /// The last one that depends on all before it.
    all: Option<u64>,
}

#[derive(Default)]
struct Families {
    /// The number of the next child of any task.
    next: u64,
    of: HashMap<usize, Siblings>,
}

static FAMILIES: Mutex<Option<Families>> = Mutex::new(None);

impl Siblings {
    /// The predecessors of the youngest child, with this number.
    fn before(&mut self, number: u64, depends: &Depends) -> Vec<Arc<Record>> {
        if depends.on_all {
            self.locations = Locations::default();
            self.all = Some(number);
            return self.live.values().cloned().collect();
        }
        let mut before = Vec::new();
        let live = &self.live;
        let needed = |number| live.contains_key(&number);
        self.locations
            .add(number, &depends.accesses, needed, &mut before);
        before.extend(self.all.filter(|all| !before.contains(all)));
        before
            .iter()
            .filter_map(|number| live.get(number).cloned())
            .collect()
    }
}

/// Adds a child, which `make` creates from its number and its predecessors.
pub(super) fn add(
    parent: usize,
    depends: &Depends,
    make: impl FnOnce(u64, Vec<Arc<Record>>) -> Record,
) -> Arc<Record> {
    let mut families = lock(&FAMILIES);
    let families = families.get_or_insert_default();
    let number = families.next;
    families.next += 1;
    let siblings = families.of.entry(parent).or_default();
    let before = siblings.before(number, depends);
    let record = Arc::new(make(number, before));
    siblings.live.insert(number, Arc::clone(&record));
    record
}

/// The children that the parent waits for. It creates no children meanwhile, so the wait need not
/// be recorded for later ones.
pub(super) fn waited_for(parent: usize, depends: Depends) -> Vec<Arc<Record>> {
    let mut families = lock(&FAMILIES);
    let families = families.get_or_insert_default();
    let number = families.next;
    families.next += 1;
    match families.of.get_mut(&parent) {
        Some(siblings) => siblings.before(number, &depends.of_a_wait()),
        None => Vec::new(),
    }
}

/// Records the end of a child.
pub(super) fn end(record: &Record) {
    remove(record.parent, record.number);
    record.forget_before();
}

fn remove(parent: usize, number: u64) {
    let mut families = lock(&FAMILIES);
    let Some(known) = &mut *families else { return };
    let Some(siblings) = known.of.get_mut(&parent) else {
        return;
    };
    let gone = siblings.live.remove(&number);
    let table = siblings.live.is_empty().then(|| known.of.remove(&parent));
    drop(families);
    // Freed without the lock.
    drop((gone, table));
}
