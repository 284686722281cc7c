//! The thread that waits for what is in a queue, and tells the graph.

use std::time::{Duration, Instant};

use super::devices::LeftQueue;
use super::lane::{InQueue, Item};
use super::shared::{Shared, lock, wait};
use crate::device::EventState;
use crate::error::Error;

/// How often an event is looked at, and the processor left to others between, before the
/// thread sleeps until it is reached.
const LOOKS: u32 = 4;

/// How often a kernel with a deadline is looked at.
const TICK: Duration = Duration::from_millis(1);

impl InQueue {
    /// The life of the thread: it waits for one task after the other, and tells the graph.
    pub(super) fn watch(&self, shared: &Shared) {
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
