//! The thread that waits for the operations in a queue, and reports the ends of tasks.

use std::mem;
use std::sync::Arc;

use super::queue::{Item, TaskQueue};
use super::slab::Id;
use crate::base::sync::{Builder, lock, wait, yield_now};
use crate::device::{DeviceError, Event, EventState};
use crate::runtime::RuntimeError;
use crate::serve::LaunchError;

/// The number of polls of an event, with a yield after each, before the thread sleeps until the
/// event is reached.
const POLLS: u32 = 4;

/// A task that has passed its deadline, and still runs.
struct Late {
    epoch: u32,
    end: Arc<dyn Event>,
}

/// The way in which a task left its queue.
pub(super) struct LeftQueue {
    pub(super) error: Option<RuntimeError>,
    /// An earlier operation in the queue had failed.
    pub(super) behind_failure: bool,
}

impl TaskQueue {
    /// Starts the thread, which calls `left` when a task has left the queue.
    pub(super) fn watch(
        self: &Arc<Self>,
        left: impl Fn(Id, LeftQueue) + Send + 'static,
    ) -> Result<(), RuntimeError> {
        let name = format!("tasks {} {}", self.runtime.device_name(), self.number());
        let queue = Arc::clone(self);
        let thread = Builder::new().name(name);
        let thread = thread.spawn(move || queue.wait_for_tasks(left));
        let thread = thread.map_err(|reason| DeviceError::System {
            what: "starting a thread that waits for a queue".to_owned(),
            reason,
        })?;
        *lock(&self.thread) = Some(thread);
        Ok(())
    }

    /// The body of the thread: it waits for one task after the other.
    fn wait_for_tasks(&self, left: impl Fn(Id, LeftQueue)) {
        let has_deadline = self.runtime.deadline().is_some();
        // The epoch of the last failure.
        let mut failed = None;
        let mut late: Option<Late> = None;
        while let Some(mut item) = self.next() {
            let epoch = Some(item.epoch);
            if let Some(late) = late.as_ref().filter(|late| late.epoch == item.epoch)
                && item.is_cancelled_after(late)
            {
                failed = epoch;
            }
            let behind_failure = failed == epoch;
            let span = mem::take(&mut item.span).enter();
            let mut error = None;
            match item.launch.take() {
                Some(mut launch) if has_deadline => {
                    // Until then the task waits for kernels that have their own deadlines.
                    item.at.wait_until_first();
                    launch.restart_time();
                    // Not aborted: the tasks after it are cancelled while it runs.
                    error = launch.wait_until_deadline().err();
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
                error.map(RuntimeError::Launch)
            } else if let Err(reason) = item.at.end.sync() {
                failed = epoch;
                self.renew(item.epoch);
                let error = error.map(RuntimeError::Launch);
                error.or_else(|| Some(self.failure(&reason)))
            } else {
                error.map(RuntimeError::Launch)
            };
            let end = LeftQueue {
                error,
                behind_failure,
            };
            drop(span);
            left(item.id, end);
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
    /// Polls for the end, then sleeps until the event is reached or has failed.
    fn wait(&self) {
        for _ in 0..POLLS {
            if self.at.end.check() != EventState::Pending {
                return;
            }
            yield_now();
        }
        // The caller asks again for the outcome.
        let _ = self.at.end.sync();
    }

    /// Cancels the task, which is queued after `late`, or waits until it can run. Returns whether
    /// it is cancelled.
    ///
    /// A task that has not begun must not begin when the scope, and the data that it uses, is gone.
    fn is_cancelled_after(&self, late: &Late) -> bool {
        self.at.cancel();
        match self.at.end.check() {
            EventState::Pending => late.end.sync().is_err(),
            EventState::Done => false,
            EventState::Failed(_) => true,
        }
    }
}
