//! The main loop of a serving thread, and that of a host function that waits for a kernel.

use std::cell::Cell;
use std::sync::Arc;

use super::call_context::{current_server, with_server};
use super::deadlock::NestedWait;
use super::idle::Idle;
use super::poller::Work;
use super::threads::{InFunction, Polled};
use super::worker::Worker;
use super::{Server, Waiting};
use crate::base::catch_panic::catch_panic;
use crate::base::sync::{Builder, JoinHandle, scope, thread_local};
use crate::wire::PollWire;

/// Maximum number of nested requests that a thread serves on its stack while host functions wait.
const MAX_DEPTH: u32 = 1024;

/// Stack of a serving thread in bytes: 64 KiB for each nested request. Only used pages take memory.
const STACK_BYTES: usize = MAX_DEPTH as usize * (64 << 10);

thread_local! {
    /// The number of requests that this thread serves nested in host functions.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Counts a nested request until it is dropped.
struct Nested;

impl Nested {
    fn begin() -> Self {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

/// The number of requests that this thread serves nested in host functions.
fn depth() -> u32 {
    DEPTH.with(Cell::get)
}

/// A thread with a stack for [`MAX_DEPTH`] nested requests.
fn serving_thread(name: String) -> Builder {
    Builder::new().name(name).stack_size(STACK_BYTES)
}

impl Server {
    /// Creates serving thread `number`.
    pub(super) fn spawn(self: &Arc<Self>, number: usize) -> std::io::Result<JoinHandle<()>> {
        let server = Arc::clone(self);
        serving_thread(format!("serve {number}"))
            .spawn(move || with_server(&server, || server.run_thread(number)))
    }

    /// The main loop of a serving thread.
    fn run_thread(self: &Arc<Self>, number: usize) {
        if self.config.waiting == Waiting::Adaptive {
            crate::base::sleep::sharpen();
        }
        let mut worker = Worker::new(self, self.config.keep_bytes());
        self.threads.run(
            number,
            |token, has_served| match self.poll_until_found(token, has_served) {
                Some(work) => Polled::Found(work),
                None => Polled::Stop,
            },
            |work| match work {
                Work::Request(found) => worker.serve(self, found),
                Work::Deferred(deferred) => self.run_foreign(|| deferred.finish()),
            },
        );
    }

    /// Runs code that may block or panic, besides host functions, on a thread that does not hold the
    /// token: a subscriber of the log, the device's driver.
    pub(super) fn run_foreign(self: &Arc<Self>, run: impl FnOnce()) {
        let create = |number| self.spawn(number);
        let (_in_function, ready) = self.threads.enter_other_work(create);
        self.warn_if_not_created(ready);
        catch_panic(run);
    }

    /// Called before a host function runs. Drop the returned value when the function has returned.
    pub(super) fn enter_function(self: &Arc<Self>, is_slow: bool) -> InFunction<'_> {
        let create = |number| self.spawn(number);
        let (in_function, ready) = self.threads.enter_function(is_slow, create);
        self.warn_if_not_created(ready);
        in_function
    }

    /// Warns if a thread could not be created. Calls are still served: the calling thread polls
    /// again after its function.
    fn warn_if_not_created(&self, created: std::io::Result<()>) {
        if let Err(error) = created {
            let threads = self.threads();
            catch_panic(|| {
                tracing::warn!(%error, threads, "cannot create another thread to serve calls");
            });
        }
    }

    /// Waits on a serving thread, inside a host function, until `done`: for a kernel, which can call the
    /// host if `can_call`.
    ///
    /// The kernel may call, so another thread is woken or created. If the maximum number of threads
    /// are all in host functions, this one serves requests itself, nested in the function. Once it
    /// serves [`MAX_DEPTH`] of them, a new thread does so instead, for as long as this wait lasts:
    /// otherwise the request that all others wait for might not be served. It does not panic, so that
    /// the caller's kernel is waited for.
    pub(crate) fn serve_until(self: &Arc<Self>, can_call: bool, done: impl Fn() -> bool + Sync) {
        self.warn_if_not_created(self.threads.wake_follower(|number| self.spawn(number)));
        let mut wait = NestedWait::begin(self, can_call);
        if depth() < MAX_DEPTH {
            return self.serve_nested(&mut wait, done);
        }
        let created = scope(|scope| {
            let thread = serving_thread("serve nested".to_owned());
            let serve = || self.serve_nested(&mut wait, &done);
            thread.spawn_scoped(scope, serve).map(drop)
        });
        if created.is_err() {
            self.warn_if_not_created(created);
            self.serve_nested(&mut wait, done);
        }
    }

    /// The loop of [`serve_until`](Self::serve_until).
    fn serve_nested(self: &Arc<Self>, wait: &mut NestedWait<'_>, done: impl Fn() -> bool) {
        let mut worker = None;
        let mut idle = Idle::new(Waiting::Adaptive);
        while !done() {
            if self.serve_if_all_are_busy(&mut worker) {
                idle = Idle::new(Waiting::Adaptive);
            } else {
                wait.check();
                idle.wait();
            }
        }
    }

    /// Polls once if the maximum number of threads are all in host functions, and serves the request
    /// that it finds. Returns whether there was one. `worker` is created for the first request.
    pub(super) fn serve_if_all_are_busy(self: &Arc<Self>, worker: &mut Option<Worker>) -> bool {
        let (mut found, mut deferred) = (None, None);
        if depth() < MAX_DEPTH {
            self.threads.with_token_if_all_are_busy(|token| {
                found = self.poll(token, PollWire::poll);
                deferred = token.deferred.take();
            });
        }
        let has_found = found.is_some();
        if let Some(found) = found {
            let worker = worker.get_or_insert_with(|| Worker::new(self, 0));
            let _nested = Nested::begin();
            with_server(self, || worker.serve(self, found));
        }
        // Last: it may block, and the request waits for no other thread.
        if let Some(deferred) = deferred {
            self.run_foreign(|| deferred.finish());
        }
        has_found
    }
}

/// In a host function, calls [`Server::serve_until`] of its runtime. Elsewhere, returns `false`
/// immediately.
pub(crate) fn serve_until(done: impl Fn() -> bool + Sync) -> bool {
    match current_server() {
        Some(server) => {
            server.serve_until(true, done);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::ptr::with_exposed_provenance_mut;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use shared_abi::wire::WireKind;
    use shared_abi::wire::gcc_slot::GccSlot;
    use tracing::subscriber::with_default;
    use tracing::{Event, Subscriber};
    use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
    use tracing_subscriber::registry;

    use super::*;
    use crate::serve::{CallError, lock, testing};
    use crate::wire::ProtocolError;

    /// Interval at which tests check for a state.
    const INTERVAL: Duration = Duration::from_millis(1);

    /// A server with a wire and at most one thread.
    fn server() -> Arc<Server> {
        let server = testing::server(testing::host());
        server.connect(WireKind::GCN_QUEUE).unwrap();
        server
    }

    /// A server with a running kernel and one thread, which waits, and does not tick, while this
    /// thread holds the token and runs `act`.
    fn with_a_standby(act: impl FnOnce(&Server)) -> Arc<Server> {
        let server = server();
        let had_token = server.threads.with_token(|_| {
            server.begin("kernel", true).unwrap().end_with_kernel();
            while !server.threads.has_waiting() || server.threads.is_ticking() {
                sleep(INTERVAL);
            }
            act(&server);
        });
        assert!(had_token);
        server
    }

    /// Takes the token repeatedly, at this interval, until another thread holds it.
    fn wait_for_poller(server: &Server, interval: Duration) {
        let start = Instant::now();
        while server.threads.with_token(|_| ()) {
            assert!(start.elapsed() < Duration::from_secs(20), "no thread polls");
            sleep(interval);
        }
    }

    #[test]
    fn a_thread_polls_after_the_end_of_a_kernel() {
        let server = with_a_standby(|server| server.poller.end_kernel());
        wait_for_poller(&server, INTERVAL);
        server.stop();
    }

    #[test]
    fn a_thread_polls_while_kernels_end_all_the_time() {
        let server = with_a_standby(|_| ());
        wait_for_poller(&server, INTERVAL / 20);
        server.stop();
    }

    /// A subscriber of the log that notes at each event whether a request is completed.
    struct Log {
        /// The address of the request's word.
        word: usize,
        events: Arc<Mutex<Vec<bool>>>,
    }

    /// # Safety
    /// `address` is that of a word of a wire that lives during `'a`, and whose accesses are atomic.
    unsafe fn word<'a>(address: usize) -> &'a AtomicU64 {
        // SAFETY: the caller guarantees it.
        unsafe { AtomicU64::from_ptr(with_exposed_provenance_mut(address)) }
    }

    impl<S: Subscriber> Layer<S> for Log {
        fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
            // SAFETY: the test's wire outlives its subscriber.
            let word = unsafe { word(self.word) };
            lock(&self.events).push(word.load(Ordering::Acquire) == 0);
        }
    }

    #[test]
    fn a_nested_request_does_not_wait_for_other_work() {
        let server = testing::server(testing::host());
        let config = server.connect(WireKind::GCC_SLOT).unwrap();
        let address = config.wire as usize + offset_of!(GccSlot, func);
        // SAFETY: on `host`, a wire has the same address for device and host. It lives as long as
        // `server`, and all accesses to its words are atomic.
        let word = unsafe { word(address) };
        // The only thread ends while it is active, and does not poll any more.
        let launch = server.begin("kernel", true).unwrap();
        while server.threads.with_token(|_| ()) {
            sleep(INTERVAL);
        }
        server.stop();
        let had_token = server.threads.with_token(|token| {
            let wire = "wire";
            let reason = ProtocolError::Sequence {
                slot: 1,
                found: 7,
                expected: 2,
            };
            let error = CallError::Protocol { wire, reason };
            token.deferred.failures.push((0, error));
        });
        assert!(had_token);
        // No such function, which is logged before the request is completed.
        word.store(77, Ordering::Release);
        let events = Arc::default();
        let log = Log {
            word: address,
            events: Arc::clone(&events),
        };
        with_default(registry().with(log), || {
            server.serve_until(true, || lock(&events).len() == 2);
        });
        assert_eq!(*lock(&events), [false, true]);
        drop(launch);
    }

    #[test]
    fn a_launch_that_panics_ends() {
        let server = server();
        let launched = catch_unwind(AssertUnwindSafe(|| {
            let _launch = server.begin("kernel", true).unwrap();
            panic!("the device's queue panics");
        }));
        assert!(launched.is_err());
        assert!(!server.poller.is_running());

        // A device may have taken over the end of the launch before it panicked.
        let launch = server.begin("kernel", true).unwrap();
        server.end(&launch.state);
        drop(launch);
        assert!(!server.poller.is_running());
        server.stop();
    }
}
