//! The data shared by the threads of a scope, and the tasks that these run.

use std::cell::RefCell;
use std::ptr;
use std::sync::Arc;

use super::devices::Devices;
use super::graph::{Graph, Resolve, Stats};
use super::pool::Pool;
use super::queue::Position;
use super::slab::Id;
use super::spans::TaskSpans;
use super::work::Work;
use crate::base::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, lock, thread_local};

pub(super) type TaskGraph = Graph<Work<'static>, Position>;

/// The data behind the mutex.
pub(super) struct State {
    pub(super) graph: TaskGraph,
    pub(super) pool: Pool,
    /// The number of threads that sleep until something has changed.
    pub(super) waiting: usize,
}

/// A scope. No panic leaves the data behind its mutexes inconsistent: foreign code is called
/// without them.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Signalled when there is work for threads of the pool.
    pub(super) work: Condvar,
    /// Signalled when a task has ended or is ready, for threads that wait.
    pub(super) changed: Condvar,
    pub(super) devices: Devices,
    pub(super) spans: TaskSpans,
    /// Queues in use.
    pub(super) queues: AtomicUsize,
}

/// A task that a thread runs, with the data for tasks that it spawns.
pub(super) struct Current {
    pub(super) scope: *const Shared,
    pub(super) frame: Option<Id>,
    pub(super) parent: Id,
    pub(super) group: Option<Id>,
}

thread_local! {
    /// The innermost task is the last.
    static CURRENT: RefCell<Vec<Current>> = const { RefCell::new(Vec::new()) };
}

impl Shared {
    pub(super) fn new(resolve: Resolve, threads: usize, queues: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                graph: Graph::new(resolve),
                pool: Pool::new(threads),
                waiting: 0,
            }),
            work: Condvar::new(),
            changed: Condvar::new(),
            devices: Devices::new(queues),
            spans: TaskSpans::default(),
            queues: AtomicUsize::new(0),
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

    /// The frame and the group of tasks that this thread spawns.
    pub(super) fn home(&self, graph: &mut TaskGraph) -> (Id, Option<Id>) {
        CURRENT.with(|all| {
            let mut all = all.borrow_mut();
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
}

/// Marks the thread as running a task until this is dropped.
pub(super) struct Entered;

impl Entered {
    pub(super) fn new(current: Current) -> Self {
        CURRENT.with(|all| all.borrow_mut().push(current));
        Self
    }

    /// The frame of the task's children, if it had any.
    pub(super) fn leave(self) -> Option<Id> {
        let frame = CURRENT.with(|all| all.borrow().last().and_then(|current| current.frame));
        drop(self);
        frame
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|all| all.borrow_mut().pop());
    }
}
