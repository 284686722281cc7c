//! The life of a serving thread, and of one that waits for a kernel inside of a host function.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::idle::Idle;
use super::in_flight::NestedWait;
use super::threads::{InFunction, Polled};
use super::worker::{Worker, serving};
use super::{Server, Waiting};
use crate::wire::PollWire;

/// Requests that a thread serves on top of each other while host functions wait:
/// as many as a wire can have under way, or the one that all wait for might be the
/// one that is not served.
const DEPTH: u32 = 1024;

/// Stack of a serving thread, used as needed: 64 KiB for each of these.
const STACK: usize = DEPTH as usize * (64 << 10);

impl Server {
    /// Creates the serving thread of that number.
    pub(super) fn spawn(self: &Arc<Self>, number: usize) -> std::io::Result<JoinHandle<()>> {
        let server = Arc::clone(self);
        std::thread::Builder::new()
            .name(format!("serve {number}"))
            .stack_size(STACK)
            .spawn(move || serving(&server, || server.run_thread(number)))
    }

    /// The life of a serving thread.
    fn run_thread(self: &Arc<Self>, number: usize) {
        if self.config.waiting == Waiting::Adaptive {
            crate::base::sleep::sharpen();
        }
        let mut worker = Worker::new(self, self.config.keep_bytes());
        self.threads.run(
            number,
            |token, has_served| {
                // A panic is one of the application's subscriber: what is taken is
                // returned before anything can panic.
                let poll = AssertUnwindSafe(|| self.poll_until_found(token, has_served));
                match catch_unwind(poll) {
                    Ok(None) => Polled::Stop,
                    Ok(Some(found)) => Polled::Request(found),
                    Err(panic) => {
                        std::mem::forget(panic);
                        Polled::Nothing
                    }
                }
            },
            |found| worker.serve(self, found),
        );
    }

    /// To be called before a host function runs, which is over when the value is dropped.
    pub(super) fn enter_function(self: &Arc<Self>, is_slow: bool) -> InFunction<'_> {
        let create = |number| self.spawn(number);
        let (in_function, ready) = self.threads.enter_function(is_slow, create);
        self.warn_of_too_few_threads(ready);
        in_function
    }

    /// There is at least the calling thread, which polls again when its function has run.
    fn warn_of_too_few_threads(&self, created: std::io::Result<()>) {
        if let Err(error) = created {
            let threads = self.threads();
            tracing::warn!(%error, threads, "no further thread to serve calls");
        }
    }

    /// Waits on a serving thread until `done`.
    ///
    /// What it waits for may need a thread, so another is woken or created. Only
    /// when all threads there may be are inside host functions does this one serve
    /// requests, on top of the function that waits, and only [`DEPTH`] deep.
    pub(crate) fn serve_until(self: &Arc<Self>, done: impl Fn() -> bool) {
        thread_local!(static DEEP: Cell<u32> = const { Cell::new(0) });
        self.warn_of_too_few_threads(self.threads.wake_follower(|number| self.spawn(number)));
        let mut worker = None;
        let mut idle = Idle::new(Waiting::Adaptive);
        let mut nested = NestedWait::new(self);
        while !done() {
            let mut found = None;
            if DEEP.get() < DEPTH {
                let poll = |token: &mut _| found = self.poll(token, PollWire::poll);
                self.threads.with_token_if_all_are_busy(poll);
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
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use shared_abi::wire::WireKind;

    use super::*;
    use crate::base::env::Env;
    use crate::device;
    use crate::serve::Config;
    use crate::wire::WireConfig;

    /// Long enough for a thread that waits to notice that nobody calls, but on a very busy machine.
    const QUIET: Duration = Duration::from_millis(100);

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
        let had_it = server.threads.with_token(|_| {
            server.begin("kernel", true).unwrap();
            while !server.threads.has_waiting() {
                sleep(QUIET / 100);
            }
            act(&server);
        });
        assert!(had_it);
        server
    }

    /// This thread takes the token so often until another one has it.
    fn somebody_polls(server: &Server, often: Duration) {
        let start = Instant::now();
        while server.threads.with_token(|_| ()) {
            assert!(start.elapsed() < Duration::from_secs(20), "nobody polls");
            sleep(often);
        }
    }

    #[test]
    fn somebody_polls_after_the_end_of_a_kernel() {
        let server = with_a_follower(|server| {
            server.poller.end_kernel();
            sleep(QUIET);
        });
        somebody_polls(&server, QUIET / 100);
        server.stop();
    }

    #[test]
    fn somebody_polls_while_kernels_end_all_the_time() {
        let server = with_a_follower(|_| sleep(QUIET));
        somebody_polls(&server, QUIET / 2000);
        server.stop();
    }
}
