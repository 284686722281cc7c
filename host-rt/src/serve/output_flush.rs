//! What kernels have printed and nobody has taken off their wires when they end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use shared_abi::wire::{WireKind, gcn_queue};

use super::idle::Idle;
use super::poller::PollToken;
use super::text::Text;
use super::{Server, Waiting};

/// What kernels print.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) text: Text,
    flush: OutputFlush,
}

/// Requests to take all text off the wires, which the poller serves.
#[derive(Debug, Default)]
struct OutputFlush {
    requested: AtomicU64,
    /// Written by the poller.
    done: AtomicU64,
}

impl Server {
    /// Takes all text off the wires that kernels have printed, one of which has ended, unless
    /// that has not been done by `until`.
    pub(crate) fn take_text(&self, until: Option<Instant>) {
        // The wires on which there may be something.
        if !self.wires.is_served(WireKind::GCN_QUEUE) && !self.wires.launch_queues.are_used() {
            return;
        }
        // Release: what the kernel did is there for whoever sees the number.
        let request = self.output.flush.requested.fetch_add(1, Ordering::Release) + 1;
        self.poller.wake_word.wake();
        let mut idle = Idle::new(Waiting::Adaptive);
        // Acquire: what was found, an error perhaps, is there for us.
        while self.output.flush.done.load(Ordering::Acquire) < request {
            // Where all threads are inside of host functions, nobody polls.
            let has_polled = self.threads.with_token(|token| {
                // A panic is one of the application's subscriber, as in `run_thread`; what
                // it was told of has been handled.
                let serve = AssertUnwindSafe(|| self.serve_flush_requests(token));
                if let Err(panic) = catch_unwind(serve) {
                    std::mem::forget(panic);
                }
            });
            if has_polled {
                continue;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            idle.wait();
        }
    }

    /// Waits until all text that was taken is written; `false` if it is not by `until`.
    pub(crate) fn wait_for_output(&self, until: Option<Instant>) -> bool {
        self.output.text.wait(self.output.text.end(), until)
    }

    /// Takes all text off the wires, if that was requested.
    pub(super) fn serve_flush_requests(&self, token: &mut PollToken) {
        let requested = self.output.flush.requested.load(Ordering::Acquire);
        // Relaxed: only the holder of the token writes it.
        if self.output.flush.done.load(Ordering::Relaxed) == requested {
            return;
        }
        self.refresh_wires(token);
        for source in &mut token.sources {
            // What was there at first is among as many as there are slots.
            for _ in 0..gcn_queue::SLOTS {
                let found = source.poller.poll_text();
                if !self.handle_non_request(&source.wire, found) {
                    break;
                }
            }
        }
        self.output.flush.done.store(requested, Ordering::Release);
    }
}
