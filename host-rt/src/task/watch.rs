//! The thread that waits for what is in a queue, and tells the graph.

use std::sync::Arc;

use super::devices::LeftQueue;
use super::queue::{Item, TaskQueue};
use super::shared::Shared;
use crate::base::lock::{lock, wait};
use crate::device::{Event, EventState};
use crate::runtime::Error;
use crate::serve::LaunchError;

/// How often an event is looked at, and the processor left to others between, before the
/// thread sleeps until it is reached.
const LOOKS: u32 = 4;

/// What has passed its deadline, and runs on.
struct Late {
    epoch: u32,
    end: Arc<dyn Event>,
}

impl TaskQueue {
    /// The life of the thread: it waits for one task after the other, and tells the graph.
    pub(super) fn watch(&self, shared: &Shared) {
        let device = &self.device;
        let has_deadline = device.runtime.deadline().is_some();
        // The epoch in which something has failed.
        let mut failed = None;
        let mut late: Option<Late> = None;
        while let Some(mut item) = self.next() {
            let epoch = Some(item.epoch);
            if let Some(late) = late.as_ref().filter(|late| late.epoch == item.epoch)
                && item.leaves(late)
            {
                failed = epoch;
            }
            let behind_failure = failed == epoch;
            let mut error = None;
            match item.launch.take() {
                Some(mut launch) if has_deadline => {
                    // Until then it waits for kernels that have deadlines of their own.
                    item.at.wait_until_first();
                    launch.restart_time();
                    error = launch.wait().err();
                }
                Some(launch) => {
                    item.wait();
                    error = launch.wait().err();
                }
                None => item.wait(),
            }
            let error = if let Some(LaunchError::Deadline { .. }) = error {
                let end = Arc::clone(&item.at.end);
                late = Some(Late {
                    epoch: item.epoch,
                    end,
                });
                self.renew(item.epoch);
                error.map(Error::Launch)
            } else if let Err(reason) = item.at.end.sync() {
                failed = epoch;
                self.renew(item.epoch);
                let error = error.map(Error::Launch);
                error.or_else(|| Some(device.failure(reason)))
            } else {
                error.map(Error::Launch)
            };
            let end = LeftQueue {
                error,
                behind_failure,
            };
            shared.left_queue(device, self.id(item.epoch), &item, end);
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
    /// Looks for the end, then sleeps until it is reached or has failed.
    fn wait(&self) {
        for _ in 0..LOOKS {
            if self.at.end.check() != EventState::Pending {
                return;
            }
            std::thread::yield_now();
        }
        // The waiting thread asks again how it went.
        let _ = self.at.end.sync();
    }

    /// Cancels it, which stands behind `late`, or waits until that lets it run: whether it comes to
    /// nothing.
    ///
    /// What has not begun must not begin when the scope, and what the task uses, is gone.
    fn leaves(&self, late: &Late) -> bool {
        self.at.cancel();
        match self.at.end.check() {
            EventState::Pending => late.end.sync().is_err(),
            EventState::Done => false,
            EventState::Failed(_) => true,
        }
    }
}
