//! The threads that run host tasks.

use std::cell::Cell;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::graph::Family;
use super::shared::{Shared, State};
use crate::base::lock::wait;

thread_local! {
    /// The scope to whose pool the thread belongs.
    static POOL_OF: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

/// The threads of a scope that run host tasks. There are as many as host tasks to run, up to a
/// limit; a thread that waits for tasks, and has none to run meanwhile, does not count.
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

    /// Called when `threads` threads are about to sleep.
    pub(super) fn block(&mut self, threads: usize) {
        self.blocked += threads;
    }

    /// Called when they are awake again.
    pub(super) fn unblock(&mut self, threads: usize) {
        self.blocked -= threads;
    }
}

impl Shared {
    /// The calling thread's count in this scope's pool: 0 for a thread of another scope that waits
    /// here.
    pub(super) fn pooled(&self) -> usize {
        usize::from(std::ptr::eq(POOL_OF.get(), self))
    }

    /// Provides threads for ready host tasks.
    pub(super) fn call_threads(&self, state: &mut State) {
        let ready = state.graph.effects.host.len();
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
                    // The thread that waits for the tasks runs them.
                    tracing::warn!(%error, threads = pool.threads, "no further thread for tasks");
                    return;
                }
            }
            pool.threads += 1;
        }
    }

    /// The body of a thread.
    fn thread(self: Arc<Self>) {
        POOL_OF.set(Arc::as_ptr(&self));
        let mut state = self.state();
        loop {
            if let Some(id) = state.graph.effects.host.pop_front() {
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

    /// Ends the threads, when no task is left.
    pub(super) fn end_threads(&self) {
        let mut state = self.state();
        debug_assert!(!state.graph.has_ready(Family::Frame(state.graph.root)));
        state.pool.ending = true;
        let handles = std::mem::take(&mut state.pool.handles);
        drop(state);
        self.work.notify_all();
        for handle in handles {
            // Panics of a task are caught with the task.
            let _ = handle.join();
        }
    }
}
