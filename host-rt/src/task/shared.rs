//! The data shared by the threads of a scope: the graph, its running tasks, and waiting threads.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};

use super::devices::Devices;
use super::error::TaskError;
use super::graph::{Family, Graph, Resolve, Stats};
use super::pool::Pool;
use super::queue::Position;
use super::slab::Id;
use super::work::Work;
use crate::base::lock::{lock, wait};
use crate::serve::panic_message;

pub(super) type Tasks = Graph<Work<'static>, Position>;

/// The data behind the mutex.
pub(super) struct State {
    pub(super) graph: Tasks,
    pub(super) pool: Pool,
    /// The number of threads that sleep until something has changed.
    waiting: usize,
}

/// A scope. No panic leaves the data behind its mutexes inconsistent: foreign code is called
/// without them.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Signalled when there is work for threads of the pool.
    pub(super) work: Condvar,
    changed: Condvar,
    pub(super) devices: Devices,
    /// Queues in use.
    pub(super) queues: AtomicUsize,
    /// For the scope's own threads, which end before it does.
    pub(super) me: Weak<Shared>,
}

/// A task that a thread runs, with the data for tasks that it spawns.
struct Current {
    scope: *const Shared,
    frame: Option<Id>,
    parent: Id,
    group: Option<Id>,
}

thread_local! {
    /// The innermost task is the last.
    static CURRENT: RefCell<Vec<Current>> = const { RefCell::new(Vec::new()) };
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

/// Ends the process if a panic of ours would leave a scope while its tasks run, with the data that
/// they borrow.
struct NoUnwinding;

impl Drop for NoUnwinding {
    fn drop(&mut self) {
        tracing::error!("a panic ends a scope of tasks, which may run: the process ends, too");
        std::process::abort();
    }
}

impl Shared {
    pub(super) fn new(resolve: Resolve, threads: usize, queues: usize) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            state: Mutex::new(State {
                graph: Graph::new(resolve),
                pool: Pool::new(threads),
                waiting: 0,
            }),
            work: Condvar::new(),
            changed: Condvar::new(),
            devices: Devices::new(queues),
            queues: AtomicUsize::new(0),
            me: Weak::clone(me),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn stats(&self) -> Stats {
        let state = self.state();
        Stats {
            // Relaxed: a statistic.
            queues: self.queues.load(Ordering::Relaxed),
            threads: state.pool.threads(),
            ..state.graph.stats
        }
    }

    /// Performs the actions that a change of the graph requires, and the ones that these cause.
    pub(super) fn drive<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        loop {
            let dropped = std::mem::take(&mut state.graph.effects.dropped);
            let to_cancel = std::mem::take(&mut state.graph.effects.to_cancel);
            let target = state.graph.effects.target.pop_front();
            if !state.graph.effects.host.is_empty() {
                self.call_threads(&mut state);
            }
            if std::mem::take(&mut state.graph.effects.changed) && state.waiting > 0 {
                self.changed.notify_all();
            }
            drop(state);
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

    /// The frame and the group of tasks that this thread spawns.
    pub(super) fn home(&self, graph: &mut Tasks) -> (Id, Option<Id>) {
        CURRENT.with_borrow_mut(|all| {
            let current = all.iter_mut().rfind(|known| ptr::eq(known.scope, self));
            current.map_or((graph.root, None), |current| {
                let frame = &mut current.frame;
                let frame = *frame.get_or_insert_with(|| graph.open_frame(current.parent));
                (frame, current.group)
            })
        })
    }

    /// Calls `body`, in which this thread spawns into `group`.
    pub(super) fn in_group<R>(&self, frame: Id, group: Id, body: impl FnOnce() -> R) -> R {
        let current = Current {
            scope: self,
            frame: Some(frame),
            parent: frame,
            group: Some(group),
        };
        let _current = Entered::new(current);
        body()
    }

    /// Starts and runs a host task that was taken from the ready ones.
    pub(super) fn run(&self, id: Id) {
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
            scope: self,
            frame: None,
            parent,
            group,
        });
        let result = caught(|| work(name.clone())).unwrap_or_else(|PanicMessage(message)| {
            Err(TaskError::Panicked {
                task: name,
                message,
            })
        });
        let frame = entered.leave();
        let mut state = self.state();
        if let Some(frame) = frame {
            state.graph.close_frame(frame);
        }
        state.graph.ended(id, result.err());
        self.drive(state);
    }

    /// Waits until `done`, and runs the host tasks of `family` meanwhile. In a host function it
    /// also serves calls.
    pub(super) fn wait<R>(&self, family: Family, done: impl Fn(&Tasks) -> Option<R>) -> R {
        loop {
            let mut state = self.state();
            if let Some(result) = done(&state.graph) {
                return result;
            }
            if let Some(id) = state.graph.take_ready(family) {
                drop(state);
                self.run(id);
                continue;
            }
            if crate::serve::current_call().is_some() {
                drop(state);
                let served = crate::serve::serve_until(|| {
                    let state = self.state();
                    done(&state.graph).is_some() || state.graph.has_ready(family)
                });
                debug_assert!(served, "a call has a server");
                continue;
            }
            state.waiting += 1;
            let pooled = self.pooled();
            state.pool.block(pooled);
            if !state.graph.effects.host.is_empty() {
                self.call_threads(&mut state);
            }
            state = wait(&self.changed, state);
            state.pool.unblock(pooled);
            state.waiting -= 1;
        }
    }

    /// Waits for all tasks, and ends all threads. Does not unwind.
    pub(super) fn finish(&self) -> Result<(), TaskError> {
        let guard = NoUnwinding;
        let root = self.state().graph.root;
        let result = self.wait(Family::Frame(root), |graph| {
            (graph.stats.pending == 0).then(|| graph.first_error())
        });
        self.end_threads();
        self.devices.end();
        std::mem::forget(guard);
        result.map_or(Ok(()), |error| Err((*error).clone()))
    }
}

/// Marks the thread as running a task until this is dropped.
struct Entered;

impl Entered {
    fn new(current: Current) -> Self {
        CURRENT.with_borrow_mut(|all| all.push(current));
        Self
    }

    /// The frame of the task's children, if it had any.
    fn leave(self) -> Option<Id> {
        let frame = CURRENT.with_borrow(|all| all.last().and_then(|current| current.frame));
        drop(self);
        frame
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|all| all.pop());
    }
}
