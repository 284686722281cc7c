//! Waiting for tasks, and the end of a scope.

use std::sync::Arc;

use super::error::TaskError;
use super::graph::Family;
use super::shared::{Shared, TaskGraph};
use crate::base::sync::wait;

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
    /// Waits until `done`, and runs the host tasks of `family` meanwhile. In a host function it
    /// also serves calls.
    pub(super) fn wait<R>(
        self: &Arc<Self>,
        family: Family,
        done: impl Fn(&TaskGraph) -> Option<R> + Sync,
    ) -> R {
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
    pub(super) fn finish(self: &Arc<Self>) -> Result<(), TaskError> {
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

    /// Ends the threads of the pool, when no task is left.
    fn end_threads(&self) {
        let mut state = self.state();
        debug_assert!(!state.graph.has_ready(Family::Frame(state.graph.root)));
        let threads = state.pool.end();
        drop(state);
        self.work.notify_all();
        for thread in threads {
            // Panics of a task are caught with the task.
            let _ = thread.join();
        }
    }
}
