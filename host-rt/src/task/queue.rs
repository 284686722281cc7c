//! One queue of a device.

use std::collections::VecDeque;
use std::sync::Arc;

use super::graph::{Mark, QueueId};
use super::slab::Id;
use super::work::TargetWork;
use crate::base::span::GuardedSpan;
use crate::base::sync::{Condvar, JoinHandle, Mutex, lock};
use crate::device::{DeviceError, Event, Fault, Queue};
use crate::runtime::{Launch, Runtime, RuntimeError};

/// A queue, which runs its tasks in order.
///
/// A failed task fails all later ones in the queue, even unrelated ones. The queue is then replaced
/// by a new one, in a new *epoch*, and unrelated tasks are queued again.
pub(super) struct TaskQueue {
    pub(super) runtime: Runtime,
    /// The number of the runtime's device in the scope.
    device: u32,
    number: u32,
    queue: Mutex<Current>,
    pub(super) items: Mutex<Items>,
    pub(super) more: Condvar,
    /// The thread that [watches](super::watch) the queue.
    pub(super) thread: Mutex<Option<JoinHandle<()>>>,
}

struct Current {
    queue: Box<dyn Queue>,
    epoch: u32,
}

#[derive(Default)]
pub(super) struct Items {
    pub(super) queued: VecDeque<Item>,
    pub(super) ending: bool,
}

/// The operations of a task in a queue.
pub(super) struct Item {
    pub(super) id: Id,
    pub(super) epoch: u32,
    pub(super) at: Position,
    /// None for copies.
    pub(super) launch: Option<Launch>,
    pub(super) span: GuardedSpan,
}

/// The position of a task in its queue.
#[derive(Clone)]
pub(super) struct Position {
    /// The event after its dependencies in other queues, if there is a deadline, which starts then.
    start: Option<Arc<dyn Event>>,
    pub(super) end: Arc<dyn Event>,
}

impl Position {
    /// Waits until the dependencies in other queues are done, or have failed.
    pub(super) fn wait_until_first(&self) {
        if let Some(start) = &self.start {
            // The end of the task reports a failure, too.
            let _ = start.sync();
        }
    }

    /// Cancels the task, if it has not begun and the device can.
    pub(super) fn cancel(&self) {
        if let Some(start) = &self.start {
            start.cancel();
        }
        self.end.cancel();
    }
}

impl TaskQueue {
    /// Opens a queue. Its tasks end when it is [watched](super::watch).
    pub(super) fn open(runtime: &Runtime, device: u32, number: u32) -> Result<Self, RuntimeError> {
        Ok(Self {
            runtime: runtime.clone(),
            device,
            number,
            queue: Mutex::new(Current {
                queue: runtime.queue()?,
                epoch: 0,
            }),
            items: Mutex::default(),
            more: Condvar::new(),
            thread: Mutex::default(),
        })
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    fn id(&self, epoch: u32) -> QueueId {
        QueueId {
            device: self.device,
            number: self.number,
            epoch,
        }
    }

    /// Queues a task after those at `marks`.
    pub(super) fn put(
        &self,
        id: Id,
        span: GuardedSpan,
        marks: &[Mark<Position>],
        work: &mut TargetWork<'_>,
    ) -> Result<Mark<Position>, RuntimeError> {
        let mut current = lock(&self.queue);
        let queue = self.id(current.epoch);
        let mut start = None;
        // Tasks queued earlier in this queue precede it anyway.
        let mut elsewhere = marks.iter().filter(|mark| mark.queue != queue).peekable();
        if elsewhere.peek().is_some() {
            for mark in elsewhere {
                current.queue.wait_event(&mark.at.end);
            }
            let has_deadline = self.runtime.deadline().is_some();
            start = has_deadline.then(|| current.queue.record_event());
        }
        let launch = match work(&mut *current.queue) {
            Ok(launch) => launch,
            Err(error) => {
                // The failed queue waits for events that the next task need not wait for.
                self.renew_current(&mut current);
                return Err(error);
            }
        };
        let end = current.queue.record_event();
        let at = Position { start, end };
        let item = Item {
            id,
            epoch: queue.epoch,
            at: at.clone(),
            launch,
            span,
        };
        lock(&self.items).queued.push_back(item);
        drop(current);
        self.more.notify_one();
        Ok(Mark {
            task: id,
            queue,
            at,
        })
    }

    /// Ends the thread of the empty queue.
    pub(super) fn end(&self) {
        lock(&self.items).ending = true;
        self.more.notify_one();
        if let Some(thread) = lock(&self.thread).take() {
            // Cannot panic: it runs no foreign code.
            let _ = thread.join();
        }
    }

    /// The error for the device's message about the queue.
    pub(super) fn failure(&self, fault: &Fault) -> RuntimeError {
        RuntimeError::Device(DeviceError::Queued {
            device: self.runtime.device_name().to_owned(),
            fault: fault.clone(),
        })
    }

    /// Begins a new epoch after one with a failure.
    pub(super) fn renew(&self, failed: u32) {
        let mut current = lock(&self.queue);
        if current.epoch == failed {
            self.renew_current(&mut current);
        }
    }

    fn renew_current(&self, current: &mut Current) {
        current.epoch += 1;
        match self.runtime.queue() {
            Ok(queue) => current.queue = queue,
            // The next task fails in the old queue, which reports the reason.
            Err(error) => tracing::warn!(%error, "no queue in place of one that has failed"),
        }
    }
}
