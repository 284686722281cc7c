//! Taking the remaining text off the wires when a kernel ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use shared_abi::wire::WireKind;

use super::idle::Idle;
use super::pieces::Pieces;
use super::poller::{Flush, PollToken};
use super::text::Text;
use super::{Server, Waiting};
use crate::base::catch_panic::catch_panic;
use crate::base::output::Stream;
use crate::wire::Poll;

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

/// How long a flush waits for messages that other threads have begun. It then takes the text behind
/// them too: their threads may be dead.
const UNWRITTEN_TIMEOUT: Duration = Duration::from_secs(1);

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
        if self.wires.served_kind(WireKind::GCN_QUEUE).is_none()
            && !self.wires.launch_wires.are_used()
        {
            return;
        }
        // Release: a poller that reads the number sees the kernel's text.
        let request = self.output.flush.requested.fetch_add(1, Ordering::Release) + 1;
        self.poller.wake_word.wake();
        let mut idle = Idle::new(Waiting::Adaptive);
        // Acquire: the text, and errors reported for the launch, are visible here.
        let is_done = || self.output.flush.done.load(Ordering::Acquire) >= request;
        loop {
            // If all threads are in host functions, no other thread polls.
            let mut deferred = None;
            self.threads.with_token(|token| {
                self.serve_flush_requests(token);
                deferred = token.deferred.take();
            });
            if let Some(deferred) = deferred {
                self.run_foreign(|| deferred.finish());
            }
            if is_done() {
                return;
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

    /// Takes the text off the wires if a flush was requested. In the order of its messages: several
    /// make up a long text, and kernels that have not ended may be writing them. So a later poll
    /// may have to go on.
    pub(super) fn serve_flush_requests(&self, token: &mut PollToken) {
        let requested = self.output.flush.requested.load(Ordering::Acquire);
        // Relaxed: only the holder of the token writes it.
        if self.output.flush.done.load(Ordering::Relaxed) == requested {
            return;
        }
        self.refresh_wires(token);
        let flush = token.flush.get_or_insert_with(|| {
            for source in &mut token.sources {
                source.poller.begin_flush();
            }
            Flush {
                request: requested,
                begun: Instant::now(),
            }
        });
        let skips_unwritten = flush.begun.elapsed() >= UNWRITTEN_TIMEOUT;
        let request = flush.request;
        let mut is_complete = true;
        for source in &mut token.sources {
            loop {
                let found = source.poller.poll_flush(skips_unwritten);
                is_complete &= !matches!(found, Poll::Incomplete);
                if !self.handle_non_request(&source.wire, found, &mut token.deferred) {
                    break;
                }
            }
        }
        if is_complete {
            token.flush = None;
            self.output.flush.done.store(request, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use shared_abi::wire::gcn_queue::{GcnMessage, GcnQueue, RAW};
    use shared_abi::words::{Coherent, Load, Store, SystemWords};

    use super::*;
    use crate::serve::testing;

    #[test]
    fn text_behind_an_unwritten_message_is_taken_after_a_timeout() {
        let server = testing::server(testing::host());
        let config = server.connect(WireKind::GCN_QUEUE).unwrap();
        // SAFETY: on `host`, a wire has the same address for device and host, and the server keeps
        // it; all accesses are such words.
        let wire =
            unsafe { Coherent::new(std::ptr::with_exposed_provenance_mut(config.wire as usize)) };
        let message = |ticket: usize, field| {
            offset_of!(GcnQueue, queue) + ticket * size_of::<GcnMessage>() + field
        };
        let written = message(1, offset_of!(GcnMessage, written));
        // Ticket 0 is drawn, and ticket 1 has an empty text.
        wire.store32(
            message(1, offset_of!(GcnMessage, kind)),
            RAW,
            Store::Relaxed,
        );
        wire.store32(written, 1, Store::Release);
        wire.store32(offset_of!(GcnQueue, next_output), 2, Store::Relaxed);

        let flush = &server.output.flush;
        flush.requested.fetch_add(1, Ordering::Release);
        let had_token = server.threads.with_token(|token| {
            server.serve_flush_requests(token);
            assert_eq!(
                wire.load32(written, Load::Relaxed),
                1,
                "text is taken out of order"
            );
            assert_eq!(flush.done.load(Ordering::Acquire), 0);
            let begun = &mut token.flush.as_mut().unwrap().begun;
            *begun = begun.checked_sub(UNWRITTEN_TIMEOUT).unwrap();
            server.serve_flush_requests(token);
            assert_eq!(wire.load32(written, Load::Relaxed), 0);
            assert_eq!(flush.done.load(Ordering::Acquire), 1);
            assert!(token.flush.is_none());
        });
        assert!(had_token);
    }
}
