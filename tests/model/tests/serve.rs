//! The serving threads: waking a follower, the standby, holders of the token that do not poll,
//! nested waits, the end. The code is host-rt's, over loom's primitives. A lost wake-up is a
//! deadlock, which loom reports.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use loom::thread::JoinHandle;
use model::{Runs, explore, pause};

use self::base::sync::{Condvar, Mutex, lock, wait};
use self::threads::{Polled, Threads};

#[path = "../../../host-rt/src/serve/threads/mod.rs"]
#[expect(
    dead_code,
    reason = "only the server reads the numbers of requests and threads"
)]
mod threads;

mod base {
    /// Replaces `base/sync.rs` of host-rt.
    pub(crate) mod sync {
        use std::ops::{Deref, DerefMut};
        use std::time::Duration;

        use loom::sync::atomic::AtomicBool;
        pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

        /// A condition variable that counts the threads that it wakes.
        pub(crate) struct Condvar(loom::sync::Condvar);

        impl Condvar {
            pub(crate) fn new() -> Self {
                Self(loom::sync::Condvar::new())
            }

            pub(crate) fn notify_one(&self) {
                crate::WAKES.set(crate::WAKES.get() + 1);
                self.0.notify_one();
            }

            pub(crate) fn notify_all(&self) {
                self.0.notify_all();
            }
        }

        /// A mutex whose guard can release it temporarily.
        pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

        pub(crate) struct MutexGuard<'a, T> {
            mutex: &'a Mutex<T>,
            guard: Option<loom::sync::MutexGuard<'a, T>>,
        }

        impl<T> Mutex<T> {
            pub(crate) fn new(value: T) -> Self {
                Self(loom::sync::Mutex::new(value))
            }
        }

        const LOCKED: &str = "a guard is locked except while it waits";

        impl<T> Deref for MutexGuard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                self.guard.as_deref().expect(LOCKED)
            }
        }

        impl<T> DerefMut for MutexGuard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                self.guard.as_deref_mut().expect(LOCKED)
            }
        }

        pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
            let guard = mutex.0.lock().expect("another thread has failed");
            MutexGuard {
                mutex,
                guard: Some(guard),
            }
        }

        /// A token without loom's mutex, whose `try_lock` may wait for another thread.
        pub(crate) struct Token<T> {
            is_taken: AtomicBool,
            value: std::sync::Mutex<T>,
        }

        pub(crate) struct TokenGuard<'a, T> {
            is_taken: &'a AtomicBool,
            value: std::sync::MutexGuard<'a, T>,
        }

        impl<T> Token<T> {
            pub(crate) fn new(value: T) -> Self {
                Self {
                    is_taken: AtomicBool::new(false),
                    value: std::sync::Mutex::new(value),
                }
            }
        }

        pub(crate) fn try_lock<T>(token: &Token<T>) -> Option<TokenGuard<'_, T>> {
            let is_taken = &token.is_taken;
            let (from, to) = (false, true);
            is_taken
                .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
                .ok()?;
            let value = token.value.lock().expect("another thread has failed");
            Some(TokenGuard { is_taken, value })
        }

        impl<T> Drop for TokenGuard<'_, T> {
            fn drop(&mut self) {
                // No other loom thread runs between this store and the drop of `value`'s guard.
                self.is_taken.store(false, Ordering::Release);
            }
        }

        impl<T> Deref for TokenGuard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.value
            }
        }

        impl<T> DerefMut for TokenGuard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                &mut self.value
            }
        }

        pub(crate) fn wait<'a, T>(
            condvar: &Condvar,
            mut guard: MutexGuard<'a, T>,
        ) -> MutexGuard<'a, T> {
            let locked = guard.guard.take().expect(LOCKED);
            guard.guard = Some(condvar.0.wait(locked).expect("another thread has failed"));
            guard
        }

        /// Times out as soon as other threads have run, or never.
        pub(crate) fn wait_timeout<'a, T>(
            condvar: &Condvar,
            mut guard: MutexGuard<'a, T>,
            _: Duration,
        ) -> (MutexGuard<'a, T>, bool) {
            if crate::NO_TIMEOUT.get() {
                return (wait(condvar, guard), false);
            }
            let mutex = guard.mutex;
            guard.guard = None;
            loom::thread::yield_now();
            (lock(mutex), true)
        }
    }
}

thread_local! {
    /// Whether no wait times out. Thread-local, since loom runs all threads of a model on one.
    static NO_TIMEOUT: Cell<bool> = const { Cell::new(false) };
    /// The number of wake-ups of serving threads.
    static WAKES: Cell<u32> = const { Cell::new(0) };
}

/// A host function. Requests are indices of functions.
#[derive(Clone, Copy)]
enum Function {
    /// Returns immediately.
    Fast,
    /// Returns when these requests are done; counts as fast.
    Stuck(&'static [usize]),
    /// Like `Stuck`, but counts as slow.
    Slow(&'static [usize]),
    /// Makes another request, and returns when that is done; counts as fast.
    Asking(usize),
    /// Like `Asking`, by a launch: serves requests while it waits, and counts as slow.
    Nested(usize),
    /// Work that the poller finds, and that is no request. It ends when these requests are done.
    OtherWork(&'static [usize]),
}

#[derive(Default)]
struct Wire {
    requests: Vec<usize>,
    /// Whether the requests arrived together, so that a thread that returns finds the next waiting.
    is_burst: bool,
    /// Whether they were taken together, like those of the lanes of a warp.
    is_batch: bool,
    is_stopping: bool,
}

struct Model {
    functions: &'static [Function],
    threads: Threads<(), JoinHandle<()>>,
    wire: Mutex<Wire>,
    /// A request has arrived, or the server stops.
    arrived: Condvar,
    done: Mutex<Vec<bool>>,
    returned: Condvar,
    /// Whether no thread may be created any more.
    has_stopped: std::sync::atomic::AtomicBool,
}

impl Model {
    fn new(limit: usize, functions: &'static [Function]) -> Arc<Self> {
        let this = Arc::new(Self {
            functions,
            threads: Threads::new(limit, ()),
            wire: Mutex::new(Wire::default()),
            arrived: Condvar::new(),
            done: Mutex::new(vec![false; functions.len()]),
            returned: Condvar::new(),
            has_stopped: std::sync::atomic::AtomicBool::new(false),
        });
        assert_created(this.threads.start(|number| this.create(number)));
        this
    }

    fn create(self: &Arc<Self>, number: usize) -> io::Result<JoinHandle<()>> {
        assert!(
            !self.has_stopped.load(SeqCst),
            "a thread is created after the end"
        );
        let this = Arc::clone(self);
        Ok(loom::thread::spawn(move || {
            let poll = |(): &mut (), has_served| this.poll_until_found(has_served);
            this.threads
                .run(number, poll, |request| this.serve(request));
        }))
    }

    /// Makes a request.
    fn request(&self, request: usize) {
        lock(&self.wire).requests.push(request);
        self.arrived.notify_all();
    }

    /// Polls once; `is_first` if the thread has just run a function.
    fn poll(&self, wire: &mut Wire, is_first: bool) -> Option<usize> {
        if wire.requests.is_empty() {
            return None;
        }
        let request = wire.requests.remove(0);
        if !matches!(self.functions[request], Function::OtherWork(_)) {
            let has_ready = wire.is_batch && !wire.requests.is_empty();
            self.threads
                .request_taken(is_first && wire.is_burst, has_ready);
        }
        Some(request)
    }

    fn poll_until_found(&self, mut is_first: bool) -> Polled<usize> {
        let mut wire = lock(&self.wire);
        loop {
            if wire.is_stopping {
                return Polled::Stop;
            }
            if let Some(request) = self.poll(&mut wire, is_first) {
                return Polled::Found(request);
            }
            is_first = false;
            wire = wait(&self.arrived, wire);
        }
    }

    fn serve(self: &Arc<Self>, request: usize) {
        let create = |number| self.create(number);
        let function = self.functions[request];
        let is_slow = matches!(function, Function::Slow(_) | Function::Nested(_));
        let (in_function, ready) = match function {
            Function::OtherWork(_) => self.threads.enter_other_work(create),
            _ => self.threads.enter_function(is_slow, create),
        };
        assert_created(ready);
        match function {
            Function::Fast => (),
            Function::Stuck(others) | Function::Slow(others) | Function::OtherWork(others) => {
                self.wait_for(others);
            }
            Function::Asking(inner) => {
                self.request(inner);
                self.wait_for(&[inner]);
            }
            Function::Nested(inner) => {
                assert_created(self.threads.wake_follower(create));
                self.request(inner);
                let mut attempt = 0;
                while !lock(&self.done)[inner] {
                    let mut found = None;
                    self.threads.with_token_if_all_are_busy(|()| {
                        found = self.poll(&mut lock(&self.wire), false);
                    });
                    match found {
                        Some(request) => self.serve(request),
                        None => pause(attempt),
                    }
                    attempt += 1;
                }
            }
        }
        drop(in_function);
        lock(&self.done)[request] = true;
        self.returned.notify_all();
    }

    /// Waits until these requests are done.
    fn wait_for(&self, requests: &[usize]) {
        let mut done = lock(&self.done);
        while !requests.iter().all(|&request| done[request]) {
            done = wait(&self.returned, done);
        }
    }

    /// Makes requests one by one, then waits until all are done.
    fn call(&self, requests: &[usize]) {
        requests.iter().for_each(|&request| self.request(request));
        self.wait_for(requests);
    }

    /// Makes these requests at once, then waits until all are done.
    fn burst(&self, requests: &[usize]) {
        let mut wire = lock(&self.wire);
        wire.requests.extend(requests);
        wire.is_burst = true;
        drop(wire);
        self.arrived.notify_all();
        self.wait_for(requests);
    }

    /// Like [`burst`](Self::burst), with requests that a thread takes together.
    fn batch(&self, requests: &[usize]) {
        let mut wire = lock(&self.wire);
        wire.requests.extend(requests);
        wire.is_batch = true;
        drop(wire);
        self.arrived.notify_all();
        self.wait_for(requests);
    }

    fn stop(&self) {
        let handles = self.threads.stop();
        self.has_stopped.store(true, SeqCst);
        lock(&self.wire).is_stopping = true;
        self.arrived.notify_all();
        for handle in handles {
            assert!(handle.join().is_ok(), "a thread failed");
        }
    }
}

fn assert_created(result: io::Result<()>) {
    assert!(result.is_ok(), "{result:?}");
}

/// Explores `act` on a server with at most `limit` threads, and the server's end.
fn serve(
    name: &str,
    runs: Runs,
    limit: usize,
    functions: &'static [Function],
    act: impl Fn(&Model) + Send + Sync + 'static,
) {
    explore(name, runs, move || {
        let model = Model::new(limit, functions);
        act(&model);
        model.stop();
    });
}

use Function::{Asking, Fast, Nested, OtherWork, Slow, Stuck};

#[test]
fn another_thread_polls_while_the_first_function_runs() {
    let functions = &[Slow(&[1]), Fast];
    serve(
        "first function",
        Runs::Preemptions(2),
        2,
        functions,
        |model| {
            model.call(&[0, 1]);
        },
    );
}

#[test]
fn the_standby_takes_over_from_a_stuck_thread() {
    let functions = &[Fast, Fast, Stuck(&[3]), Fast];
    serve("standby", Runs::Preemptions(1), 2, functions, |model| {
        // The first request creates the standby, the second makes it tick.
        model.call(&[0]);
        model.call(&[1]);
        model.call(&[2, 3]);
    });
}

#[test]
fn the_standby_takes_over_from_other_work() {
    let functions = &[Fast, Fast, OtherWork(&[3]), Fast];
    serve("other work", Runs::Preemptions(2), 2, functions, |model| {
        model.call(&[0]);
        model.call(&[1]);
        model.call(&[2, 3]);
    });
}

#[test]
fn the_standby_is_replaced() {
    let functions = &[Slow(&[1]), Slow(&[2]), Fast, Stuck(&[4]), Stuck(&[5]), Fast];
    serve(
        "next standby",
        Runs::Preemptions(1),
        3,
        functions,
        |model| {
            model.call(&[0, 1, 2]);
            model.call(&[3, 4, 5]);
        },
    );
}

#[test]
fn a_standby_that_was_called_is_replaced() {
    let functions = &[Fast, Nested(2), Asking(3), Fast];
    serve(
        "called standby",
        Runs::Preemptions(1),
        3,
        functions,
        |model| {
            model.call(&[0]);
            model.call(&[1]);
        },
    );
}

#[test]
fn a_follower_is_called_before_the_standby() {
    let functions = &[Slow(&[1]), Slow(&[2]), Fast, Nested(4), Fast];
    serve("call", Runs::Preemptions(1), 3, functions, |model| {
        model.call(&[0, 1, 2]);
        model.call(&[3]);
    });
}

#[test]
fn a_serial_caller_wakes_no_follower() {
    let functions = &[Slow(&[]); 5];
    serve(
        "serial caller",
        Runs::Preemptions(1),
        2,
        functions,
        |model| {
            NO_TIMEOUT.set(true);
            WAKES.set(0);
            (0..5).for_each(|request| model.call(&[request]));
            // The first request creates a thread, which is woken at most once, to tick.
            assert!(WAKES.get() <= 1, "{} wakes", WAKES.get());
        },
    );
}

#[test]
fn requests_that_wait_are_evidence() {
    const QUICK: Function = Slow(&[]);
    let functions = &[Fast, QUICK, QUICK, QUICK, QUICK, Slow(&[6]), Fast];
    serve("burst", Runs::Preemptions(1), 2, functions, |model| {
        NO_TIMEOUT.set(true);
        model.call(&[0]);
        model.burst(&[1, 2, 3, 4, 5, 6]);
    });
}

#[test]
fn a_batch_is_evidence() {
    // The first of the batch waits for the last: only a follower can take that one in time.
    let functions = &[Fast, Slow(&[2]), Fast];
    serve("batch", Runs::Preemptions(2), 2, functions, |model| {
        NO_TIMEOUT.set(true);
        model.call(&[0]);
        model.batch(&[1, 2]);
    });
}

#[test]
fn evidence_wakes_a_follower_without_a_tick() {
    // Request 1 is taken while another thread is in a slow function.
    let functions = &[Slow(&[1]), Fast, Slow(&[3]), Fast];
    serve("evidence", Runs::Preemptions(2), 2, functions, |model| {
        NO_TIMEOUT.set(true);
        model.call(&[0, 1]);
        model.call(&[2, 3]);
    });
}

#[test]
fn with_token_delays_no_request() {
    // With one thread, no standby could take over.
    serve(
        "with_token",
        Runs::Preemptions(3),
        1,
        &[Fast, Fast],
        |model| {
            NO_TIMEOUT.set(true);
            model.request(0);
            model.threads.with_token(|()| drop(lock(&model.wire)));
            model.call(&[1]);
        },
    );
}

#[test]
fn with_token_races_with_the_standby() {
    serve(
        "with_token, ticks",
        Runs::Preemptions(2),
        2,
        &[Fast, Fast],
        |model| {
            model.request(0);
            model.threads.with_token(|()| drop(lock(&model.wire)));
            model.call(&[1]);
        },
    );
}

#[test]
fn all_threads_end() {
    serve(
        "end",
        Runs::Preemptions(2),
        2,
        &[Slow(&[]), Slow(&[])],
        |model| {
            // The server may stop before it serves them.
            model.request(0);
            model.request(1);
        },
    );
}

#[test]
fn the_only_thread_serves_the_request_that_it_waits_for() {
    serve(
        "nested",
        Runs::Preemptions(2),
        1,
        &[Nested(1), Fast],
        |model| {
            model.call(&[0]);
        },
    );
}

#[test]
fn all_threads_serve_the_requests_that_they_wait_for() {
    let functions = &[Nested(2), Nested(3), Fast, Fast];
    serve("nested, two", Runs::Preemptions(1), 2, functions, |model| {
        model.call(&[0, 1]);
    });
}

#[test]
fn a_nested_wait_calls_a_follower_without_a_tick() {
    let functions = &[Slow(&[1]), Fast, Nested(3), Fast];
    serve(
        "nested, follower",
        Runs::Preemptions(1),
        2,
        functions,
        |model| {
            NO_TIMEOUT.set(true);
            model.call(&[0, 1]);
            model.call(&[2]);
        },
    );
}
