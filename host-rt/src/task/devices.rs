//! The devices of a scope, and the queues of its target tasks.

use std::sync::Arc;

use super::graph::Mark;
use super::queue::{Position, TaskQueue};
use super::slab::Id;
use crate::base::sync::{Mutex, lock};
use crate::runtime::{Runtime, RuntimeError};

/// The devices of a scope, in the order of their first task.
pub(super) struct Devices {
    all: Mutex<Vec<Arc<Device>>>,
    /// The maximum number of queues of each device.
    max_queues: usize,
}

/// A device, and its queues.
pub(super) struct Device {
    pub(super) runtime: Runtime,
    number: u32,
    /// Queues of devices with the same number can wait for each other's events.
    domain: u32,
    max_queues: usize,
    queues: Mutex<Vec<InUse>>,
}

/// A queue, with the data to choose one.
struct InUse {
    queue: Arc<TaskQueue>,
    /// The number of tasks in it.
    load: usize,
    /// The last task in it.
    tail: Option<Id>,
}

impl Devices {
    pub(super) fn new(max_queues: usize) -> Self {
        Self {
            all: Mutex::default(),
            max_queues,
        }
    }

    /// The number of a runtime's device, and of the devices whose events it can wait for.
    pub(super) fn number_of(&self, runtime: &Runtime) -> (u32, u32) {
        let mut all = lock(&self.all);
        if let Some(known) = all.iter().find(|known| known.runtime.is(runtime)) {
            return (known.number, known.domain);
        }
        let number = all.len() as u32;
        let same_kind = |known: &&Arc<Device>| known.runtime.kind() == runtime.kind();
        let domain = all
            .iter()
            .find(same_kind)
            .map_or(number, |known| known.domain);
        all.push(Arc::new(Device {
            runtime: runtime.clone(),
            number,
            domain,
            max_queues: self.max_queues,
            queues: Mutex::default(),
        }));
        (number, domain)
    }

    pub(super) fn get(&self, number: u32) -> Arc<Device> {
        Arc::clone(&lock(&self.all)[number as usize])
    }

    /// Ends the threads of all queues, which are empty.
    pub(super) fn end(&self) {
        for device in lock(&self.all).drain(..) {
            for used in lock(&device.queues).drain(..) {
                used.queue.end();
            }
        }
    }
}

impl Device {
    /// A queue for a task that depends on `marks`: preferably one in which such a task is the last,
    /// otherwise an empty one, otherwise one that `open` opens, given its number, and when there
    /// are enough the one with the fewest tasks.
    pub(super) fn choose(
        &self,
        id: Id,
        marks: &[Mark<Position>],
        open: impl FnOnce(u32) -> Result<Arc<TaskQueue>, RuntimeError>,
    ) -> Result<Arc<TaskQueue>, RuntimeError> {
        let mut queues = lock(&self.queues);
        let is_ours = |mark: &&Mark<_>| mark.queue.device == self.number;
        let behind = marks.iter().filter(is_ours).find_map(|mark| {
            let at = mark.queue.number as usize;
            (queues[at].tail == Some(mark.task)).then_some(at)
        });
        let least = || (0..queues.len()).min_by_key(|&at| queues[at].load);
        let idle = || least().filter(|&at| queues[at].load == 0);
        let at = match behind.or_else(idle) {
            Some(at) => at,
            None if queues.len() < self.max_queues => match open(queues.len() as u32) {
                Ok(queue) => {
                    queues.push(InUse {
                        queue,
                        load: 0,
                        tail: None,
                    });
                    queues.len() - 1
                }
                Err(error) if queues.is_empty() => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, queues = queues.len(), "no further queue for tasks");
                    least().unwrap_or(0)
                }
            },
            None => least().unwrap_or(0),
        };
        let used = &mut queues[at];
        used.load += 1;
        used.tail = Some(id);
        Ok(Arc::clone(&used.queue))
    }

    /// Removes a task from the load of its queue.
    pub(super) fn left(&self, queue: u32, id: Id) {
        if let Some(used) = lock(&self.queues).get_mut(queue as usize) {
            used.load -= 1;
            if used.tail == Some(id) {
                used.tail = None;
            }
        }
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }
}
