//! The children of each task: dependences hold among them alone.
//!
//! A parent is known by the place that libomp has in each task. Another task can be there only
//! when all children of the first have ended, whose table is gone then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use host_rt::task::Locations;

use super::lists::Depends;
use super::record::Record;
use crate::locks::lock;

/// Children of one task that have not all ended.
#[derive(Default)]
struct Siblings {
    locations: Locations<u64>,
    live: HashMap<u64, Arc<Record>>,
    /// The last that came after all before it.
    all: Option<u64>,
}

#[derive(Default)]
struct Families {
    /// The number of the next child of whomever.
    next: u64,
    of: HashMap<usize, Siblings>,
}

static FAMILIES: Mutex<Option<Families>> = Mutex::new(None);

impl Siblings {
    /// Those that the child with this number, the youngest, comes after.
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

/// Adds a child, which `make` makes of its number and of those that it comes after.
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

/// Those whose end the parent waits for. It has no children meanwhile, so for those that it
/// has afterwards they need not be known.
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

/// A child has ended.
pub(super) fn ended(parent: usize, number: u64) {
    let mut families = lock(&FAMILIES);
    let Some(known) = &mut *families else { return };
    let Some(siblings) = known.of.get_mut(&parent) else {
        return;
    };
    let gone = siblings.live.remove(&number);
    let table = siblings.live.is_empty().then(|| known.of.remove(&parent));
    drop(families);
    // What they free is freed without the lock.
    drop((gone, table));
}
