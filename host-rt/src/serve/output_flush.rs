//! Taking the remaining text off the wires when a kernel ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use shared_abi::wire::{WireKind, gcn_queue};

use super::idle::Idle;
use super::pieces::Pieces;
use super::poller::PollToken;
use super::text::Text;
use super::{Server, Waiting};
use crate::base::catch_panic::catch_panic;
use crate::base::output::Stream;

/// The text that kernels print.
#[derive(Debug)]
pub(super) struct Output {
    /// That for the standard output, the only one with messages on a wire.
    pub(super) text: Text,
    /// That for the standard error.
    pub(super) error: Text,
    /// The texts that have not arrived completely.
    pub(super) pieces: Arc<Pieces>,
    flush: OutputFlush,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            text: Text::new(Stream::Output),
            error: Text::new(Stream::Error),
            pieces: Arc::default(),
            flush: OutputFlush::default(),
        }
    }
}

/// Flush requests: the poller takes all text off the wires.
#[derive(Debug, Default)]
struct OutputFlush {
    /// The number of flush requests.
    requested: AtomicU64,
    /// The number of completed flush requests, stored by the poller.
    done: AtomicU64,
}

impl Server {
    /// Waits until all text of an ended kernel is taken off the wires, at most until `until`.
    pub(crate) fn take_text(self: &Arc<Self>, until: Option<Instant>) {
        // Only these wires carry text.
        if !self.wires.is_served(WireKind::GCN_QUEUE) && !self.wires.launch_wires.are_used() {
            return;
        }
        // Release: a poller that reads the number sees the kernel's text.
        let request = self.output.flush.requested.fetch_add(1, Ordering::Release) + 1;
        self.poller.wake_word.wake();
        let mut idle = Idle::new(Waiting::Adaptive);
        // Acquire: the text, and errors reported for the launch, are visible here.
        while self.output.flush.done.load(Ordering::Acquire) < request {
            // If all threads are in host functions, no other thread polls.
            let mut deferred = None;
            let has_polled = self.threads.with_token(|token| {
                self.serve_flush_requests(token);
                deferred = token.deferred.take();
            });
            if let Some(deferred) = deferred {
                self.run_foreign(|| deferred.finish());
            }
            if has_polled {
                continue;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            idle.wait();
        }
    }

    /// Waits until all text taken so far is written; `false` if it is not by `until`.
    pub(crate) fn wait_for_output(&self, until: Option<Instant>) -> bool {
        let mut texts = [&self.output.text, &self.output.error].into_iter();
        texts.all(|text| text.wait(text.end(), until))
    }

    /// Drops the pieces of texts that threads of the launch have not finished, because they have
    /// trapped in between. A launch with the key 0 stands for all that are unknown.
    pub(super) fn drop_unfinished_texts(&self, key: u32) {
        for text in self.output.pieces.take_launch(key) {
            let text = String::from_utf8_lossy(&text);
            catch_panic(
                || tracing::warn!(%text, "a device thread has ended while it printed this"),
            );
        }
    }

    /// Takes all text off the wires if a flush was requested.
    pub(super) fn serve_flush_requests(&self, token: &mut PollToken) {
        let requested = self.output.flush.requested.load(Ordering::Acquire);
        // Relaxed: only the holder of the token writes it.
        if self.output.flush.done.load(Ordering::Relaxed) == requested {
            return;
        }
        self.refresh_wires(token);
        for source in &mut token.sources {
            // At the time of the request, a wire had at most one message per slot.
            for _ in 0..gcn_queue::SLOTS {
                let found = source.poller.poll_text();
                if !self.handle_non_request(&source.wire, found, &mut token.deferred) {
                    break;
                }
            }
        }
        self.output.flush.done.store(requested, Ordering::Release);
    }
}
