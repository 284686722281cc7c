//! Polling the wires, and sleeping while no kernel can call.

use std::time::Instant;

use super::change_flag::ChangeFlag;
use super::deferred::Deferred;
use super::idle::Idle;
use super::served_wire::{ServedWire, Source};
use super::wake::WakeWord;
use super::{CallError, Server, Waiting};
use crate::base::sleep::YieldTime;
use crate::base::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, lock};
use crate::wire::{Poll, PollWire, Request, RequestPoller};

/// A taken request.
pub(super) struct Found {
    pub(super) request: Request,
    /// End of the text that precedes it on its wire.
    pub(super) text_end: u64,
}

/// The work of a thread that has polled, after it has released the token.
pub(super) enum Work {
    Request(Found),
    Deferred(Deferred),
}

/// The state of the thread that polls. While a thread holds it, no code runs that may block.
pub(super) struct PollToken {
    pub(super) sources: Vec<Source>,
    pub(super) deferred: Deferred,
    /// The source where the next poll begins, so that a busy wire does not starve others.
    begin: usize,
    /// Whether the last poll stopped early, and must be repeated before sleep.
    must_repeat: bool,
    /// Whether the next poll is the first after a function on the polling thread.
    is_first: bool,
    /// How long the next wait yields before it sleeps.
    yield_time: YieldTime,
    /// The flush that is not complete.
    pub(super) flush: Option<Flush>,
}

/// A flush of text that has begun.
pub(super) struct Flush {
    /// The last request for a flush that it serves.
    pub(super) request: u64,
    pub(super) begun: Instant,
}

impl Default for PollToken {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            deferred: Deferred::default(),
            begin: 0,
            must_repeat: false,
            is_first: false,
            yield_time: YieldTime::LONGEST,
            flush: None,
        }
    }
}

/// State shared by the poller and the other threads.
pub(super) struct PollerState {
    pub(super) wake_word: WakeWord,
    /// Wires that the poller has not added yet.
    new_sources: Mutex<Vec<Source>>,
    /// Whether wires were added or retired.
    sources_changed: ChangeFlag,
    /// The number of running kernels that can call.
    running: AtomicUsize,
    /// Whether polling must end.
    stopping: AtomicBool,
}

impl PollerState {
    pub(super) fn new() -> Self {
        Self {
            wake_word: WakeWord::default(),
            new_sources: Mutex::default(),
            sources_changed: ChangeFlag::new(),
            running: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        }
    }

    /// Adds a wire.
    pub(super) fn add_source(&self, source: Source) {
        lock(&self.new_sources).push(source);
        self.request_refresh();
    }

    /// Asks the poller to refresh its wires.
    pub(super) fn request_refresh(&self) {
        self.sources_changed.set();
    }

    /// Counts a kernel that is about to run.
    pub(super) fn begin_kernel(&self) {
        // Relaxed: if the poller sleeps, as while no kernel runs, the lock of `wake` orders it.
        self.running.fetch_add(1, Ordering::Relaxed);
        self.wake_word.wake();
    }

    /// Counts a kernel that has ended.
    pub(super) fn end_kernel(&self) {
        // Relaxed: a poller that reads the old value polls once more.
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends polling.
    pub(super) fn stop(&self) {
        // Relaxed: if the poller sleeps, the lock of `wake` orders it.
        self.stopping.store(true, Ordering::Relaxed);
        self.wake_word.wake();
    }

    fn is_stopping(&self) -> bool {
        // Relaxed: some later poll reads it, and `stop` wakes a sleeping poller.
        self.stopping.load(Ordering::Relaxed)
    }

    pub(super) fn is_running(&self) -> bool {
        // Relaxed: some later poll reads it, and `begin_kernel` wakes a sleeping poller.
        self.running.load(Ordering::Relaxed) != 0
    }
}

/// Maximum text messages and protocol errors of a wire that one poll handles.
const MAX_NON_REQUESTS: u32 = 16;

impl Server {
    /// Polls until there is a request or other work; `None` when the server stops. `has_served`:
    /// this thread has just run a function.
    pub(super) fn poll_until_found(&self, token: &mut PollToken, has_served: bool) -> Option<Work> {
        let poller = &self.poller;
        let mut idle = Idle::with_yield_time(self.config.waiting, token.yield_time);
        token.is_first = has_served && self.config.waiting == Waiting::Adaptive;
        if self.config.waiting != Waiting::Adaptive {
            // The last poll found a request, and every poll is followed by a sleep.
            idle.wait();
        }
        loop {
            if let Some(deferred) = token.deferred.take() {
                return Some(Work::Deferred(deferred));
            }
            if poller.is_stopping() {
                return None;
            }
            self.serve_flush_requests(token);
            if let Some(found) = self.poll(token, PollWire::poll) {
                return Some(Work::Request(found));
            }
            if !token.deferred.is_empty() {
                continue;
            }
            token.is_first = false;
            if !poller.is_running() {
                poller
                    .wake_word
                    .sleep(|| poller.is_running() || poller.is_stopping());
                idle = Idle::new(self.config.waiting);
            } else if idle.should_sleep()
                && self.device.can_wake_host()
                && !self.wires.launch_wires.are_used()
                && !self.output.text.is_full()
                && token.flush.is_none()
            {
                // Edge `W1`, host end: see `WakeWord::sleep`.
                let mut found = None;
                poller.wake_word.sleep(|| {
                    found = self.poll(token, PollWire::poll_all);
                    let must_end = !poller.is_running() || poller.is_stopping();
                    found.is_some() || token.must_repeat || must_end || !token.deferred.is_empty()
                });
                token.yield_time = idle.next_yield_time();
                if let Some(found) = found {
                    return Some(Work::Request(found));
                }
                idle = Idle::with_yield_time(self.config.waiting, token.yield_time);
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
        token.must_repeat = false;
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
            for left in (0..MAX_NON_REQUESTS).rev() {
                match poll(&mut *source.poller) {
                    Poll::Request(mut request) => {
                        let waited = std::mem::take(&mut token.is_first);
                        self.threads
                            .request_taken(waited, source.poller.has_ready());
                        token.begin = index + 1;
                        request.set_launch_if_unknown(source.wire.launch());
                        let text_end = source.wire.text_end();
                        return Some(Found { request, text_end });
                    }
                    Poll::Incomplete => {
                        token.must_repeat = true;
                        break;
                    }
                    other => {
                        if !self.handle_non_request(&source.wire, other, &mut token.deferred) {
                            break;
                        }
                        // A request after it may already have sent its wake-up, and this may be the
                        // last poll before sleep.
                        token.must_repeat |= left == 0;
                    }
                }
            }
        }
        None
    }

    /// Adds new wires to the token and removes retired ones.
    pub(super) fn refresh_wires(&self, token: &mut PollToken) {
        if self.poller.sources_changed.take() {
            token.sources.append(&mut lock(&self.poller.new_sources));
            // Relaxed: `sources_changed` orders it.
            let is_retired = |source: &mut Source| source.wire.retired.load(Ordering::Relaxed);
            let retired = token.sources.extract_if(.., is_retired);
            token.deferred.retired.extend(retired);
        }
    }

    /// Handles text and protocol errors; `false` if there is neither.
    pub(super) fn handle_non_request(
        &self,
        wire: &ServedWire,
        found: Poll<Request>,
        deferred: &mut Deferred,
    ) -> bool {
        match found {
            Poll::Empty | Poll::Incomplete => false,
            Poll::Request(_) => unreachable!("a request is served"),
            Poll::Printed(text) => {
                let (end, writer) = self.output.text.push(&text);
                if writer.is_some() {
                    deferred.writer = writer;
                }
                // Relaxed: only the holder of the token accesses it, and copies it into later
                // requests.
                wire.text_end.store(end, Ordering::Relaxed);
                true
            }
            Poll::ProtocolError(reason) => {
                let launch = wire.launch();
                let wire = wire.wire.name;
                let error = CallError::Protocol { wire, reason };
                self.requests.launches.record(launch, &error);
                deferred.failures.push((launch, error));
                true
            }
        }
    }

    /// Waits until the text that precedes a request on its wire is written, so that it precedes the
    /// text of the host function.
    pub(super) fn wait_for_text_before(&self, found: &Found) {
        if found.text_end > 0 {
            self.output.text.wait_before_call(found.text_end);
        }
    }
}
