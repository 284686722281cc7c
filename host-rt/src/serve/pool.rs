//! The serving threads: who polls, who follows, who runs what.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::idle::Idle;
use super::in_flight::NestedWait;
use super::worker::{Worker, serving};
use super::{CallError, Server, Waiting, lock};
use crate::wire::{Poll, PollWire, Request, RequestPoller, Wire};

/// How often the standby checks while requests come in.
const TICK: Duration = Duration::from_millis(1);

/// How often it checks while a kernel runs but none come in.
const LONG_TICK: Duration = Duration::from_millis(100);

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
        // Relaxed: asked by the holder of the token alone, who writes it.
        self.text_end.load(Ordering::Relaxed)
    }

    /// The launch to blame for what is found on it.
    fn launch(&self) -> u32 {
        // Relaxed: it was set before the launch, whose message this comes after.
        self.launch.load(Ordering::Relaxed)
    }
}

/// What finds the requests of a wire.
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
}

/// The threads.
#[derive(Default)]
pub(super) struct Pool {
    pub(super) handles: Vec<JoinHandle<()>>,
    /// Threads that exist.
    pub(super) threads: usize,
    /// Threads that wait to be needed.
    idle: usize,
    /// Threads of these that have been asked to poll.
    called: usize,
    /// One of them is the standby.
    standby: bool,
}

/// Most non-request messages, text or protocol errors, that one poll of a wire handles before
/// the other wires are polled.
const PASS_LIMIT: u32 = 16;

/// Requests that a thread serves on top of each other while host functions wait:
/// as many as a wire can have under way, or the one that all wait for might be the
/// one that is not served.
const DEPTH: u32 = 1024;

/// Stack of a serving thread, used as needed: 64 KiB for each of these.
const STACK: usize = DEPTH as usize * (64 << 10);

impl Server {
    /// Creates a thread.
    pub(super) fn spawn(self: &Arc<Self>, pool: &mut Pool) -> std::io::Result<()> {
        if self.is_stopping() {
            return Ok(());
        }
        let server = Arc::clone(self);
        let name = format!("serve {}", pool.threads);
        let handle = std::thread::Builder::new()
            .name(name)
            .stack_size(STACK)
            .spawn(move || serving(&server, || server.thread()))?;
        pool.handles.push(handle);
        pool.threads += 1;
        Ok(())
    }

    /// The life of a serving thread.
    fn thread(self: &Arc<Self>) {
        if self.config.waiting == Waiting::Adaptive {
            crate::base::sleep::sharpen();
        }
        let mut worker = Worker::new(self, self.config.keep_bytes());
        loop {
            let Some(mut token) = self.try_token() else {
                if self.wait_for_work() {
                    continue;
                }
                return;
            };
            // A panic is one of the application's subscriber: what is taken is
            // returned before anything can panic.
            match catch_unwind(AssertUnwindSafe(|| self.poll_until_found(&mut token))) {
                Ok(None) => return,
                Ok(Some(found)) => {
                    drop(token);
                    worker.serve(self, found);
                }
                Err(panic) => std::mem::forget(panic),
            }
        }
    }

    /// The token, if nobody has it.
    pub(super) fn try_token(&self) -> Option<MutexGuard<'_, PollToken>> {
        match self.token.try_lock() {
            Ok(token) => Some(token),
            // Nothing in it is half done at a panic, see `thread`.
            Err(TryLockError::Poisoned(poisoned)) => {
                self.token.clear_poison();
                Some(poisoned.into_inner())
            }
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Runs `act` with the token, on a thread that does not poll, unless another thread has it.
    pub(super) fn with_token(&self, act: impl FnOnce(&mut PollToken)) -> bool {
        let Some(mut token) = self.try_token() else {
            return false;
        };
        act(&mut token);
        drop(token);
        // Those that serve may have found it taken, and gone to wait: see `wait_for_work`. Under
        // its lock, so that whoever comes there later finds the token free.
        let have_followers = lock(&self.pool).idle > 0;
        if have_followers {
            self.needed.notify_all();
        }
        true
    }

    /// Polls until there is a request; `None` when the server stops.
    fn poll_until_found(&self, token: &mut PollToken) -> Option<Found> {
        let mut idle = Idle::new(self.config.waiting);
        if self.config.waiting != Waiting::Adaptive {
            // Also after a poll that found a request, which was the last one.
            idle.wait();
        }
        loop {
            if self.is_stopping() {
                return None;
            }
            self.serve_flush_requests(token);
            if let Some(found) = self.poll(token, PollWire::poll) {
                return Some(found);
            }
            if !self.is_running() {
                self.wake_word
                    .sleep(|| self.is_running() || self.is_stopping());
                idle = Idle::new(self.config.waiting);
            } else if idle.is_over()
                && self.device.can_wake_host()
                && !self.launch_queues.are_used()
                && !self.text.is_full()
            {
                // Edge `W1`, host end: see `WakeWord::sleep`.
                let mut found = None;
                self.wake_word.sleep(|| {
                    found = self.poll(token, PollWire::poll_all);
                    found.is_some() || token.restless || !self.is_running() || self.is_stopping()
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
    fn poll(
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
            let is_full = source.wire.text_end() > 0 && self.text.is_full();
            let poll = if is_full {
                RequestPoller::poll_requests
            } else {
                poll
            };
            for left in (0..PASS_LIMIT).rev() {
                match poll(&mut *source.poller) {
                    Poll::Request(mut request) => {
                        // Relaxed: only the holder of the token writes it, and the
                        // standby only compares.
                        let count = self.taken.load(Ordering::Relaxed);
                        self.taken.store(count + 1, Ordering::Relaxed);
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
        if self.sources_changed.load(Ordering::Acquire) {
            self.sources_changed.store(false, Ordering::Relaxed);
            token.sources.append(&mut lock(&self.new_sources));
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
                let end = self.text.push(&text);
                // Relaxed: only the holder of the token writes it, and a request that it takes
                // behind the text carries it along.
                wire.text_end.store(end, Ordering::Relaxed);
                true
            }
            Poll::ProtocolError(reason) => {
                let launch = wire.launch();
                let wire = wire.wire.name;
                self.launches
                    .report(launch, CallError::Protocol { wire, reason });
                true
            }
        }
    }

    /// Waits for what was printed on a wire before the request that was taken from it: what the
    /// host function prints comes behind that.
    pub(super) fn wait_for_text_before(&self, found: &Found) {
        if found.text_end > 0 {
            self.text.wait_before_call(found.text_end);
        }
    }

    /// Waits until this thread is needed; `false` when the server stops.
    fn wait_for_work(&self) -> bool {
        let mut pool = lock(&self.pool);
        pool.idle += 1;
        let mut standby = false;
        let mut seen = self.requests();
        let mut tick = TICK;
        let mut next_look = Instant::now();
        let needed = loop {
            if self.is_stopping() {
                break false;
            }
            if pool.called > 0 {
                pool.called -= 1;
                break true;
            }
            if !standby && !pool.standby {
                pool.standby = true;
                standby = true;
                next_look = Instant::now() + tick;
                // Relaxed, here and below: advisory, saves waking us. Where the
                // poller misses the last change to `false`, the tick after it is
                // short too.
                self.ticking.store(true, Ordering::Relaxed);
            }
            let running = self.is_running();
            if !running {
                // `begin` counts its kernel under this lock: either we see it
                // here, or its first request sees that nobody ticks.
                self.ticking.store(false, Ordering::Relaxed);
                // Some thread has to find that first request. A holder of the token that
                // does not poll wakes us once it is free, see `with_token`.
                if standby && self.try_token().is_some() {
                    break true;
                }
            }
            if !standby || !running {
                pool = self
                    .needed
                    .wait(pool)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left = next_look.saturating_duration_since(Instant::now());
            let (guard, _) = self
                .needed
                .wait_timeout(pool, left)
                .unwrap_or_else(PoisonError::into_inner);
            pool = guard;
            // Not whether the time was up: spurious wake-ups, however many, do not delay
            // this check. A call stands before the tick, or nobody would take it back.
            if Instant::now() >= next_look && pool.called == 0 {
                let now = self.requests();
                let quiet = now == std::mem::replace(&mut seen, now);
                // Nobody polls, and did not a tick ago either.
                if quiet && self.is_running() && self.try_token().is_some() {
                    break true;
                }
                let was_ticking = self.ticking.load(Ordering::Relaxed);
                tick = if quiet && !was_ticking {
                    LONG_TICK
                } else {
                    TICK
                };
                self.ticking.store(!quiet, Ordering::Relaxed);
                next_look = Instant::now() + tick;
            }
        };
        pool.idle -= 1;
        if standby {
            pool.standby = false;
            self.ticking.store(false, Ordering::Relaxed);
            // Another one becomes the standby.
            self.needed.notify_one();
        }
        needed
    }

    /// Makes sure that another thread polls while the caller runs a host function.
    pub(super) fn wake_follower(self: &Arc<Self>, slow: bool) {
        if (!slow && self.ticking.load(Ordering::Relaxed)) || self.config.threads == 1 {
            return;
        }
        let mut pool = lock(&self.pool);
        if pool.idle > pool.called {
            pool.called += 1;
            // The first thread to wake takes the call; there is one waiter per call.
            self.needed.notify_one();
        } else if pool.called == 0 && pool.threads < self.config.threads {
            // No failure: there is at least the caller, who polls again when the
            // function has run.
            let spawned = self.spawn(&mut pool);
            let threads = pool.threads;
            // A subscriber of the log may ask how many there are.
            drop(pool);
            if let Err(error) = spawned {
                tracing::warn!(%error, threads, "no further thread to serve calls");
            }
        }
    }

    /// Waits on a serving thread until `done`.
    ///
    /// What it waits for may need a thread, so another is woken or created. Only
    /// when all threads there may be are inside host functions does this one serve
    /// requests, on top of the function that waits, and only [`DEPTH`] deep.
    pub(crate) fn serve_until(self: &Arc<Self>, done: impl Fn() -> bool) {
        thread_local!(static DEEP: Cell<u32> = const { Cell::new(0) });
        self.wake_follower(true);
        let mut worker = None;
        let mut idle = Idle::new(Waiting::Adaptive);
        let mut nested = NestedWait::new(self);
        while !done() {
            let mut found = None;
            if DEEP.get() < DEPTH && self.all_are_busy() {
                self.with_token(|token| found = self.poll(token, PollWire::poll));
            }
            match found {
                Some(found) => {
                    let worker = worker.get_or_insert_with(|| Worker::new(self, 0));
                    DEEP.set(DEEP.get() + 1);
                    serving(self, || worker.serve(self, found));
                    DEEP.set(DEEP.get() - 1);
                    idle = Idle::new(Waiting::Adaptive);
                }
                None => {
                    nested.check();
                    idle.wait();
                }
            }
        }
        nested.check();
    }

    /// Whether all threads that there may be exist and none waits to be needed.
    fn all_are_busy(&self) -> bool {
        let pool = lock(&self.pool);
        pool.idle == 0 && pool.threads >= self.config.threads
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use shared_abi::wire::WireKind;

    use super::*;
    use crate::base::env::Env;
    use crate::device;
    use crate::serve::Config;
    use crate::wire::WireConfig;

    /// A server with one thread that follows, while a kernel runs and this thread has the token:
    /// which then does `act`.
    fn with_a_follower(act: impl FnOnce(&Server)) -> Arc<Server> {
        let device = device::open("host", &Env::read().unwrap()).unwrap();
        let wire = WireConfig {
            slots: 8,
            initial_seq: 0,
        };
        let config = Config {
            threads: 1,
            wire,
            bounce_bytes: 1 << 20,
            request_memory: 1 << 20,
            waiting: Waiting::Adaptive,
        };
        let server = Server::new(device, config);
        server.connect(WireKind::GCN_QUEUE).unwrap();
        let had_it = server.with_token(|_| {
            server.begin("kernel", true).unwrap();
            while lock(&server.pool).idle == 0 {
                sleep(TICK);
            }
            act(&server);
        });
        assert!(had_it);
        server
    }

    /// This thread takes the token so often until another one has it.
    fn somebody_polls(server: &Server, often: Duration) {
        let start = Instant::now();
        while server.with_token(|_| ()) {
            assert!(start.elapsed() < Duration::from_secs(20), "nobody polls");
            sleep(often);
        }
    }

    #[test]
    fn somebody_polls_after_the_end_of_a_kernel() {
        let server = with_a_follower(|server| {
            server.running.fetch_sub(1, Ordering::SeqCst);
            // Long enough for the follower to see that, but on a very busy machine.
            sleep(3 * LONG_TICK);
        });
        somebody_polls(&server, TICK);
        server.stop();
    }

    #[test]
    fn somebody_polls_while_kernels_end_all_the_time() {
        // Until nothing has come in for a while, and it checks seldom.
        let server = with_a_follower(|_| sleep(LONG_TICK));
        somebody_polls(&server, TICK / 20);
        server.stop();
    }
}
