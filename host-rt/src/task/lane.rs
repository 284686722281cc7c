//! One queue of a device, and the thread that waits for what is in it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::devices::{Device, LeftQueue};
use super::graph::{Lane, Mark};
use super::shared::{Shared, lock, wait};
use super::slab::Id;
use super::work::TargetWork;
use crate::device::{Event, EventState, Queue};
use crate::error::{DeviceError, Error};
use crate::runtime::Launch;

/// How often an event is looked at, and the processor left to others between, before the
/// thread sleeps until it is reached.
const LOOKS: u32 = 4;

/// How often a kernel with a deadline is looked at.
const TICK: Duration = Duration::from_millis(1);

/// A queue, in which tasks come after each other.
///
/// A task there that fails takes all behind it with it, though they need not depend on it.
/// The queue is then given up for a new one, in a new *epoch*, and whoever was taken along
/// for nothing is queued again.
pub(super) struct InQueue {
    device: Arc<Device>,
    number: u32,
    queue: Mutex<Current>,
    items: Mutex<Items>,
    more: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Current {
    queue: Box<dyn Queue>,
    epoch: u32,
}

#[derive(Default)]
struct Items {
    queued: VecDeque<Item>,
    ending: bool,
}

/// What a queue has for a task.
pub(super) struct Item {
    pub(super) id: Id,
    epoch: u32,
    event: Arc<dyn Event>,
    /// None for copies.
    launch: Option<Launch>,
    queued: Instant,
}

impl InQueue {
    pub(super) fn open(
        shared: &Shared,
        device: &Arc<Device>,
        number: u32,
    ) -> Result<Arc<Self>, Error> {
        let lane = Arc::new(Self {
            device: Arc::clone(device),
            number,
            queue: Mutex::new(Current {
                queue: device.runtime.queue()?,
                epoch: 0,
            }),
            items: Mutex::default(),
            more: Condvar::new(),
            thread: Mutex::default(),
        });
        let name = format!("tasks {} {number}", device.runtime.device_name());
        let watched = Arc::clone(&lane);
        let scope = shared.me.get().and_then(|me| me.upgrade());
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            if let Some(shared) = scope {
                watched.watch(&shared);
            }
        });
        let thread = thread.map_err(|reason| DeviceError::System {
            what: "starting a thread that waits for a queue".to_owned(),
            reason,
        })?;
        *lock(&lane.thread) = Some(thread);
        Ok(lane)
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    fn lane(&self, epoch: u32) -> Lane {
        Lane {
            device: self.device.number(),
            lane: self.number,
            epoch,
        }
    }

    /// Queues a task after those at `marks`.
    pub(super) fn put(
        &self,
        id: Id,
        marks: &[Mark<Arc<dyn Event>>],
        work: &mut TargetWork<'_>,
    ) -> Result<Mark<Arc<dyn Event>>, Error> {
        let mut current = lock(&self.queue);
        let lane = self.lane(current.epoch);
        // What was queued before in this queue, it comes after anyway.
        for mark in marks.iter().filter(|mark| mark.lane != lane) {
            current.queue.wait_event(&mark.event);
        }
        let launch = match work(&mut *current.queue) {
            Ok(launch) => launch,
            Err(error) => {
                // It waits for what the next one need not wait for.
                self.renew_current(&mut current);
                return Err(error);
            }
        };
        let event = current.queue.record_event();
        let item = Item {
            id,
            epoch: lane.epoch,
            event: Arc::clone(&event),
            launch,
            queued: Instant::now(),
        };
        lock(&self.items).queued.push_back(item);
        drop(current);
        self.more.notify_one();
        Ok(Mark {
            task: id,
            lane,
            event,
        })
    }

    /// Ends the thread. Nothing is in the queue.
    pub(super) fn end(&self) {
        lock(&self.items).ending = true;
        self.more.notify_one();
        if let Some(thread) = lock(&self.thread).take() {
            // It runs no code but ours.
            let _ = thread.join();
        }
    }

    /// The life of the thread: it waits for one task after the other, and tells the graph.
    fn watch(&self, shared: &Shared) {
        let device = &self.device;
        // The epoch in which something has failed, or has not ended in time.
        let (mut failed, mut abandoned) = (None, None);
        let mut free = Instant::now();
        while let Some(mut item) = self.next() {
            let epoch = Some(item.epoch);
            let since = item.queued.max(free);
            let patience = match device.runtime.deadline() {
                Some(_) if abandoned == epoch => Some(Duration::ZERO),
                deadline => deadline,
            };
            let launch = item.launch.take();
            let until = launch
                .as_ref()
                .and(patience)
                .and_then(|p| since.checked_add(p));
            let reached = item.wait(until);
            free = Instant::now();
            let behind_failure = failed == epoch;
            let ended = match launch.map(|launch| launch.wait()) {
                Some(Err(error)) => Some(Error::Launch(error)),
                _ => None,
            };
            let error = match reached {
                Some(Err(reason)) => {
                    failed = epoch;
                    self.renew(item.epoch);
                    ended.or_else(|| Some(device.failure(reason)))
                }
                Some(Ok(())) => ended,
                None => {
                    abandoned = epoch;
                    self.renew(item.epoch);
                    ended
                }
            };
            let end = LeftQueue {
                error,
                behind_failure,
            };
            shared.left_queue(device, self.lane(item.epoch), &item, end);
        }
    }

    fn next(&self) -> Option<Item> {
        let mut items = lock(&self.items);
        loop {
            if let Some(item) = items.queued.pop_front() {
                return Some(item);
            }
            if items.ending {
                return None;
            }
            items = wait(&self.more, items);
        }
    }

    /// Begins a new epoch after one in which something has failed.
    fn renew(&self, failed: u32) {
        let mut current = lock(&self.queue);
        if current.epoch == failed {
            self.renew_current(&mut current);
        }
    }

    fn renew_current(&self, current: &mut Current) {
        current.epoch += 1;
        match self.device.runtime.queue() {
            Ok(queue) => current.queue = queue,
            // What comes next fails in the old one, which says why.
            Err(error) => tracing::warn!(%error, "no queue in place of one that has failed"),
        }
    }
}

impl Item {
    /// Waits until the event is reached or has failed; `None` if it is not at `until`.
    fn wait(&self, until: Option<Instant>) -> Option<Result<(), String>> {
        for _ in 0..LOOKS {
            match self.event.check() {
                EventState::Pending => std::thread::yield_now(),
                EventState::Done => return Some(Ok(())),
                EventState::Failed(reason) => return Some(Err(reason)),
            }
        }
        let Some(until) = until else {
            return Some(self.event.sync());
        };
        while self.event.check() == EventState::Pending {
            if Instant::now() >= until {
                return None;
            }
            std::thread::sleep(TICK);
        }
        Some(self.event.sync())
    }
}
