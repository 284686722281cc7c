//! Polling the wires, and sleeping while there is nothing to poll for.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::idle::Idle;
use super::wake::WakeWord;
use super::{CallError, Server, Waiting, lock};
use crate::wire::{Poll, PollWire, Request, RequestPoller, Wire};

/// A wire that is served.
pub(super) struct Served {
    pub(super) wire: Arc<Wire>,
    /// Key of the launch whose own it is; 0 if it is all launches'.
    pub(super) launch: AtomicU32,
    /// It is no longer served.
    pub(super) retired: AtomicBool,
    /// Where its text ends, in the server's.
    text_end: AtomicU64,
}

impl Served {
    pub(super) fn new(wire: Arc<Wire>) -> Self {
        Self {
            wire,
            launch: AtomicU32::new(0),
            retired: AtomicBool::new(false),
            text_end: AtomicU64::new(0),
        }
    }

    /// Where its text ends, in the server's; 0 if none was ever taken from it.
    fn text_end(&self) -> u64 {
        // Relaxed: only the holder of the token writes and reads it.
        self.text_end.load(Ordering::Relaxed)
    }

    /// The launch to blame for what is found on it.
    fn launch(&self) -> u32 {
        // Relaxed: it was set before the launch, whose message this comes after.
        self.launch.load(Ordering::Relaxed)
    }
}

/// A wire and its poller.
pub(super) struct Source {
    pub(super) poller: Box<RequestPoller>,
    pub(super) wire: Arc<Served>,
}

/// A request that a thread has taken.
pub(super) struct Found {
    pub(super) request: Request,
    /// Where the text ends that was printed on its wire before it.
    pub(super) text_end: u64,
}

/// What the thread that polls holds.
#[derive(Default)]
pub(super) struct PollToken {
    pub(super) sources: Vec<Source>,
    /// The one to begin with, so that no wire waits behind one that is busy.
    begin: usize,
    /// The last poll stopped early and has to be repeated before sleep.
    restless: bool,
    /// The next poll is the first one after a function that the polling thread ran.
    is_first: bool,
}

/// What the poller and the other threads share.
#[derive(Default)]
pub(super) struct Poller {
    pub(super) wake_word: WakeWord,
    /// Wires that the poller has not yet seen.
    new_sources: Mutex<Vec<Source>>,
    /// There are new ones, or some that are no longer served.
    sources_changed: AtomicBool,
    /// Kernels that run.
    running: AtomicUsize,
    /// Threads are to end.
    stopping: AtomicBool,
}

impl Poller {
    /// Has the poller poll one more wire.
    pub(super) fn add_source(&self, source: Source) {
        lock(&self.new_sources).push(source);
        self.change_sources();
    }

    /// Asks the poller to refresh its wires.
    pub(super) fn change_sources(&self) {
        // Release: the poller that sees the flag finds the source. The mutex
        // would do too; this says it where it is read.
        self.sources_changed.store(true, Ordering::Release);
    }

    /// A kernel is about to run.
    pub(super) fn begin_kernel(&self) {
        self.running.fetch_add(1, Ordering::SeqCst);
        // The poller may sleep because nothing ran.
        self.wake_word.wake();
    }

    /// A kernel has ended.
    pub(super) fn end_kernel(&self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    /// Ends polling.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.wake_word.wake();
    }

    fn is_stopping(&self) -> bool {
        // Relaxed: seen soon enough; `wake_word` wakes a poller that sleeps.
        self.stopping.load(Ordering::Relaxed)
    }

    fn is_running(&self) -> bool {
        // Relaxed: as above.
        self.running.load(Ordering::Relaxed) != 0
    }
}

/// Most non-request messages, text or protocol errors, that one poll of a wire handles before
/// the other wires are polled.
const PASS_LIMIT: u32 = 16;

impl Server {
    /// Polls until there is a request; `None` when the server stops. `has_served` if this thread
    /// comes from a function.
    pub(super) fn poll_until_found(
        &self,
        token: &mut PollToken,
        has_served: bool,
    ) -> Option<Found> {
        let poller = &self.poller;
        let mut idle = Idle::new(self.config.waiting);
        token.is_first = has_served && self.config.waiting == Waiting::Adaptive;
        if self.config.waiting != Waiting::Adaptive {
            // Also after a poll that found a request, which was the last one.
            idle.wait();
        }
        loop {
            if poller.is_stopping() {
                return None;
            }
            self.serve_flush_requests(token);
            if let Some(found) = self.poll(token, PollWire::poll) {
                return Some(found);
            }
            token.is_first = false;
            if !poller.is_running() {
                poller
                    .wake_word
                    .sleep(|| poller.is_running() || poller.is_stopping());
                idle = Idle::new(self.config.waiting);
            } else if idle.is_over()
                && self.device.can_wake_host()
                && !self.wires.launch_queues.are_used()
                && !self.output.text.is_full()
            {
                // Edge `W1`, host end: see `WakeWord::sleep`.
                let mut found = None;
                poller.wake_word.sleep(|| {
                    found = self.poll(token, PollWire::poll_all);
                    let is_over = !poller.is_running() || poller.is_stopping();
                    found.is_some() || token.restless || is_over
                });
                if found.is_some() {
                    return found;
                }
                idle = Idle::new(self.config.waiting);
            } else {
                idle.wait();
            }
        }
    }

    /// Polls every wire once, with one of the methods of [`PollWire`].
    pub(super) fn poll(
        &self,
        token: &mut PollToken,
        poll: fn(&mut RequestPoller) -> Poll<Request>,
    ) -> Option<Found> {
        self.refresh_wires(token);
        token.restless = false;
        let count = token.sources.len();
        for i in 0..count {
            let index = (token.begin + i) % count;
            let source = &mut token.sources[index];
            let is_full = source.wire.text_end() > 0 && self.output.text.is_full();
            let poll = if is_full {
                RequestPoller::poll_requests
            } else {
                poll
            };
            for left in (0..PASS_LIMIT).rev() {
                match poll(&mut *source.poller) {
                    Poll::Request(mut request) => {
                        self.threads
                            .request_taken(std::mem::take(&mut token.is_first));
                        token.begin = index + 1;
                        request.set_launch_if_unknown(source.wire.launch());
                        let text_end = source.wire.text_end();
                        return Some(Found { request, text_end });
                    }
                    other => {
                        if !self.handle_non_request(&source.wire, other) {
                            break;
                        }
                        // Behind it there may be a request whose
                        // wake-up is past, and this may be the last poll before sleep.
                        token.restless |= left == 0;
                    }
                }
            }
        }
        None
    }

    /// Adds the wires that are new to those that the token's holder polls, and drops those that
    /// are not served any longer.
    pub(super) fn refresh_wires(&self, token: &mut PollToken) {
        let poller = &self.poller;
        if poller.sources_changed.load(Ordering::Acquire) {
            poller.sources_changed.store(false, Ordering::Relaxed);
            token.sources.append(&mut lock(&poller.new_sources));
            // Relaxed: the flag orders it; if not this one, the next.
            let is_served = |source: &Source| !source.wire.retired.load(Ordering::Relaxed);
            token.sources.retain(is_served);
        }
    }

    /// Handles text and protocol errors; `false` if there is neither.
    pub(super) fn handle_non_request(&self, wire: &Served, found: Poll<Request>) -> bool {
        match found {
            Poll::Empty => false,
            Poll::Request(_) => unreachable!("a request is served"),
            Poll::Printed(text) => {
                let end = self.output.text.push(&text);
                // Relaxed: only the holder of the token writes it, and a request that it takes
                // behind the text carries it along.
                wire.text_end.store(end, Ordering::Relaxed);
                true
            }
            Poll::ProtocolError(reason) => {
                let launch = wire.launch();
                let wire = wire.wire.name;
                self.requests
                    .launches
                    .report(launch, CallError::Protocol { wire, reason });
                true
            }
        }
    }

    /// Waits for what was printed on a wire before the request that was taken from it: what the
    /// host function prints comes behind that.
    pub(super) fn wait_for_text_before(&self, found: &Found) {
        if found.text_end > 0 {
            self.output.text.wait_before_call(found.text_end);
        }
    }
}
