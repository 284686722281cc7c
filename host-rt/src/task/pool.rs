//! The threads that run host tasks.

use std::cell::Cell;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::graph::Family;
use super::shared::{Shared, State, wait};

thread_local! {
    /// Whether the thread is one of a pool.
    static POOLED: Cell<bool> = const { Cell::new(false) };
}

/// The threads of a scope that run host tasks. There are as many as there are host tasks to
/// run, up to a limit; one that waits for tasks, and has none to run meanwhile, does not
/// count.
pub(super) struct Pool {
    limit: usize,
    handles: Vec<JoinHandle<()>>,
    threads: usize,
    idle: usize,
    blocked: usize,
    ending: bool,
}

impl Pool {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            handles: Vec::new(),
            threads: 0,
            idle: 0,
            blocked: 0,
            ending: false,
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// The calling thread is about to sleep.
    pub(super) fn block(&mut self) {
        self.blocked += usize::from(POOLED.get());
    }

    /// It has slept.
    pub(super) fn unblock(&mut self) {
        self.blocked -= usize::from(POOLED.get());
    }
}

impl Shared {
    /// Sees to it that the host tasks that are ready find threads.
    pub(super) fn call_threads(&self, state: &mut State) {
        let ready = state.graph.due.host.len();
        let pool = &mut state.pool;
        for _ in 0..ready.min(pool.idle) {
            self.work.notify_one();
        }
        let more = ready.saturating_sub(pool.idle);
        let room = pool.limit.saturating_sub(pool.threads - pool.blocked);
        for _ in 0..more.min(room) {
            let Some(shared) = self.me.upgrade() else {
                return;
            };
            let name = format!("tasks {}", pool.threads);
            let thread = std::thread::Builder::new().name(name);
            match thread.spawn(move || shared.thread()) {
                Ok(handle) => pool.handles.push(handle),
                Err(error) => {
                    // Whoever waits for the tasks runs them.
                    tracing::warn!(%error, threads = pool.threads, "no further thread for tasks");
                    return;
                }
            }
            pool.threads += 1;
        }
    }

    /// The life of a thread.
    fn thread(self: Arc<Self>) {
        POOLED.set(true);
        let mut state = self.state();
        loop {
            if let Some(id) = state.graph.due.host.pop_front() {
                drop(state);
                self.run(id);
                state = self.state();
            } else if state.pool.ending {
                return;
            } else {
                state.pool.idle += 1;
                state = wait(&self.work, state);
                state.pool.idle -= 1;
            }
        }
    }

    /// Ends the threads. No task is left.
    pub(super) fn end_threads(&self) {
        let mut state = self.state();
        debug_assert!(!state.graph.has_ready(Family::Frame(state.graph.root)));
        state.pool.ending = true;
        let handles = std::mem::take(&mut state.pool.handles);
        drop(state);
        self.work.notify_all();
        for handle in handles {
            // What a task throws is caught with the task.
            let _ = handle.join();
        }
    }
}
