//! The threads that run host tasks.

use crate::base::sync::{Builder, Condvar, JoinHandle};

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

    /// Called when `threads` threads are about to sleep until tasks have ended.
    pub(super) fn block(&mut self, threads: usize) {
        self.blocked += threads;
    }

    /// Called when they are awake again.
    pub(super) fn unblock(&mut self, threads: usize) {
        self.blocked -= threads;
    }

    /// Called when a thread of the pool is about to sleep until there is work.
    pub(super) fn idle(&mut self) {
        self.idle += 1;
    }

    /// Called when it is awake again.
    pub(super) fn busy(&mut self) {
        self.idle -= 1;
    }

    /// Provides threads for `ready` tasks: wakes idle ones, which sleep on `work`, and starts
    /// further ones, each with a `body`.
    pub(super) fn provide<B: FnOnce() + Send + 'static>(
        &mut self,
        ready: usize,
        work: &Condvar,
        body: impl Fn() -> B,
    ) {
        for _ in 0..ready.min(self.idle) {
            work.notify_one();
        }
        let more = ready.saturating_sub(self.idle);
        let room = self.limit.saturating_sub(self.threads - self.blocked);
        for _ in 0..more.min(room) {
            let name = format!("tasks {}", self.threads);
            match Builder::new().name(name).spawn(body()) {
                Ok(handle) => self.handles.push(handle),
                Err(error) => {
                    // The thread that waits for the tasks runs them.
                    tracing::warn!(%error, threads = self.threads, "no further thread for tasks");
                    return;
                }
            }
            self.threads += 1;
        }
    }

    /// Makes idle threads end when they wake. Returns the threads, to be joined.
    pub(super) fn end(&mut self) -> Vec<JoinHandle<()>> {
        self.ending = true;
        std::mem::take(&mut self.handles)
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending
    }
}
