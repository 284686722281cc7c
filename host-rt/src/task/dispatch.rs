//! Runs ready tasks, and records their ends in the graph.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::devices::Device;
use super::error::TaskError;
use super::queue::TaskQueue;
use super::shared::{Current, Entered, Shared, State};
use super::slab::Id;
use super::watch::LeftQueue;
use super::work::Work;
use crate::base::sync::{MutexGuard, Ordering, thread_local, wait};
use crate::runtime::RuntimeError;
use crate::serve::panic_message;

thread_local! {
    /// The scope to whose pool the thread belongs.
    static POOL_OF: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

/// The message of a panic in foreign code.
struct PanicMessage(String);

/// Calls foreign code.
fn caught<R>(foreign: impl FnOnce() -> R) -> Result<R, PanicMessage> {
    catch_unwind(AssertUnwindSafe(foreign)).map_err(|panic| {
        let message = PanicMessage(panic_message(&*panic));
        // Its drop might panic too.
        std::mem::forget(panic);
        message
    })
}

impl Shared {
    /// Performs the actions that a change of the graph requires, and the ones that these cause.
    pub(super) fn drive<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) {
        loop {
            let dropped = std::mem::take(&mut state.graph.effects.dropped);
            let ended = std::mem::take(&mut state.graph.effects.ended);
            let to_cancel = std::mem::take(&mut state.graph.effects.to_cancel);
            let target = state.graph.effects.target.pop_front();
            if !state.graph.effects.host.is_empty() {
                self.call_threads(&mut state);
            }
            if std::mem::take(&mut state.graph.effects.changed) && state.waiting > 0 {
                self.changed.notify_all();
            }
            drop(state);
            self.spans.end(&ended);
            for position in to_cancel {
                position.cancel();
            }
            for work in dropped {
                // The work's drop is foreign code, and may panic.
                if let Err(PanicMessage(message)) = caught(|| drop(work)) {
                    tracing::error!(%message, "what a task had panics as it is dropped");
                }
            }
            let Some(id) = target else {
                return;
            };
            self.enqueue(id);
            state = self.state();
        }
    }

    /// Queues a ready target task on its device.
    fn enqueue(self: &Arc<Self>, id: Id) {
        let mut state = self.state();
        let started = state.graph.start(id);
        let Some((Work::Target(number, mut work), marks)) = started else {
            return;
        };
        drop(state);
        let device = self.devices.get(number);
        let open = |number| self.open_queue(&device, number);
        let queued = device.choose(id, &marks, open).and_then(|queue| {
            let queued = queue.put(id, self.spans.get(id), &marks, &mut work);
            if queued.is_err() {
                device.left(queue.number(), id);
            }
            queued
        });
        let mut state = self.state();
        match queued {
            Ok(mark) => state.graph.queued(id, Work::Target(number, work), mark),
            Err(cause) => {
                let task = state.graph.name(id);
                let cause = Arc::new(cause);
                let graph = &mut state.graph;
                graph.effects.dropped.push(Work::Target(number, work));
                graph.ended(id, Some(TaskError::Device { task, cause }));
            }
        }
    }

    /// Opens a queue, whose thread keeps the scope until it ends.
    fn open_queue(
        self: &Arc<Self>,
        device: &Arc<Device>,
        number: u32,
    ) -> Result<Arc<TaskQueue>, RuntimeError> {
        let queue = TaskQueue::open(&device.runtime, device.number(), number)?;
        let queue = Arc::new(queue);
        let shared = Arc::clone(self);
        let device = Arc::clone(device);
        queue.watch(move |id, end| shared.left_queue(&device, number, id, end))?;
        // Relaxed: a statistic.
        self.queues.fetch_add(1, Ordering::Relaxed);
        Ok(queue)
    }

    /// Called when a task has left its queue.
    fn left_queue(self: &Arc<Self>, device: &Device, queue: u32, id: Id, end: LeftQueue) {
        device.left(queue, id);
        let mut state = self.state();
        let error = end.error.map(|cause| TaskError::Device {
            task: state.graph.name(id),
            cause: Arc::new(cause),
        });
        state.graph.target_ended(id, error, end.behind_failure);
        self.drive(state);
    }

    /// Provides threads for ready host tasks.
    pub(super) fn call_threads(self: &Arc<Self>, state: &mut State) {
        let ready = state.graph.effects.host.len();
        state.pool.provide(ready, &self.work, || {
            let shared = Arc::clone(self);
            move || shared.thread()
        });
    }

    /// The body of a thread of the pool.
    fn thread(self: Arc<Self>) {
        POOL_OF.with(|pool| pool.set(Arc::as_ptr(&self)));
        let mut state = self.state();
        loop {
            if let Some(id) = state.graph.effects.host.pop_front() {
                drop(state);
                self.run(id);
                state = self.state();
            } else if state.pool.is_ending() {
                return;
            } else {
                state.pool.idle();
                state = wait(&self.work, state);
                state.pool.busy();
            }
        }
    }

    /// The calling thread's count in this scope's pool: 0 for a thread of another scope that waits
    /// here.
    pub(super) fn pooled(&self) -> usize {
        usize::from(std::ptr::eq(POOL_OF.with(Cell::get), self))
    }

    /// Starts and runs a host task that was taken from the ready ones.
    pub(super) fn run(self: &Arc<Self>, id: Id) {
        let mut state = self.state();
        let home = state.graph.home_of(id);
        let started = state.graph.start(id);
        let (Some((Work::Host(work), _)), Some((parent, group))) = (started, home) else {
            // It was cancelled.
            return self.drive(state);
        };
        let name = state.graph.name(id);
        drop(state);
        let entered = Entered::new(Current {
            scope: Arc::as_ptr(self),
            frame: None,
            parent,
            group,
        });
        let span = self.spans.get(id).enter();
        let result = caught(|| work(name.clone())).unwrap_or_else(|PanicMessage(message)| {
            Err(TaskError::Panicked {
                task: name,
                message,
            })
        });
        drop(span);
        let frame = entered.leave();
        let mut state = self.state();
        if let Some(frame) = frame {
            state.graph.close_frame(frame);
        }
        state.graph.ended(id, result.err());
        self.drive(state);
    }
}
