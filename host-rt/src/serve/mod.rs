//! Serving: the threads that take requests from the wires and run host functions.
//!
//! | module | job |
//! |---|---|
//! | `threads` | which thread polls, waits and is woken: a state machine |
//! | `poller`, `change_flag`, `deferred`, `idle`, `wake` | polling the wires, and sleeping |
//! | `thread_loop` | the main loop of a thread |
//! | `worker`, `call_context`, `call_span`, `transfer`, `panic_message` | serving one request |
//! | `async_call` | calls of asynchronous functions |
//! | `device_call`, `device_copy`, `staging` | those whose data stays in device memory |
//! | `wires`, `served_wire`, `launch_wire` | the served wires |
//! | `functions`, `in_flight`, `failures` | host functions, their calls, launches and their failed calls |
//! | `abort`, `call_state` | aborting the calls of a launch |
//! | `deadlock` | nested launches whose calls lack what the calls that wait for them keep |
//! | `output_flush`, `pieces`, `print`, `text` | the text that kernels print |
//! | `log` | the records that kernels log |
//!
//! While no kernel runs, all threads sleep.
//!
//! Locks are acquired in this order: `Wires::attaching`, the poll token, any other lock. Of the
//! others a thread holds one at a time, with two exceptions: the lock of `Launches` is held while
//! the failures of its launches are locked, and a thread that is about to wait holds the lock of
//! `Threads` while it *tries* to get the token. No lock is held while a host function, a driver or
//! a log subscriber runs, except `attaching`, with which mapped memory is allocated.

mod abort;
mod async_call;
mod call_context;
mod call_span;
mod call_state;
mod change_flag;
mod deadlock;
mod deferred;
mod device_call;
mod device_copy;
mod error;
mod failures;
mod functions;
mod idle;
mod in_flight;
mod launch_wire;
mod log;
mod output_flush;
mod panic_message;
mod pieces;
mod poller;
mod print;
mod served_wire;
mod staging;
#[cfg(test)]
mod testing;
mod text;
mod thread_loop;
mod threads;
mod transfer;
mod wake;
mod wires;
mod worker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use revoff_fn::HostFunction;
use shared_abi::print::FUNCTION;
use shared_abi::wire::bounce::BLOCK;

use self::async_call::PendingCalls;
use self::deadlock::Stall;
pub use self::device_call::{DeviceCall, DeviceFunction, DeviceFuture, DeviceReply};
pub use self::error::{CallError, LaunchError};
pub(crate) use self::failures::LaunchState;
use self::failures::Launches;
pub(crate) use self::functions::{DirectTransfer, FunctionTable, RegisteredFunction};
pub use self::functions::{ForeignError, ForeignFunction, RawFunction, RequestMemory, Spawn};
use self::in_flight::InFlight;
pub use self::launch_wire::LaunchWire;
use self::output_flush::Output;
use self::poller::{PollToken, PollerState};
use self::print::Print;
pub use self::staging::StagingBuffer;
use self::threads::Threads;
use self::wires::Wires;
use crate::base::lock::lock;
use crate::device::{Device, DeviceError};
use crate::map::{Budget, PresentTable};
use crate::wire::{Reserved, WireConfig};

pub use self::call_context::{CallContext, current_call};
pub(crate) use self::panic_message::panic_message;
pub(crate) use self::thread_loop::serve_until;

/// Configuration of a server.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Maximum number of threads.
    pub(crate) threads: usize,
    pub(crate) wire: WireConfig,
    /// Size of the bounce area in bytes.
    pub(crate) bounce_bytes: usize,
    /// Limit of the host memory that all requests together may hold, in bytes.
    pub(crate) request_memory: u64,
    /// Time without progress after which nested launches count as deadlocked.
    pub(crate) deadlock_timeout: Duration,
    /// Strategy of waiting for requests.
    pub(crate) waiting: Waiting,
}

impl Config {
    /// Bytes of a request's memory that a serving thread keeps for the next: a small part of
    /// `request_memory`.
    fn keep_bytes(&self) -> usize {
        let share = self.request_memory / (16 * self.threads.max(1) as u64);
        share.min(16 << 20) as usize
    }

    fn bounce_blocks(&self) -> u32 {
        (self.bounce_bytes / BLOCK) as u32
    }
}

/// The resources of a runtime for calls to the host. They do not depend on the number of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of mapped memory: wires, bounce area, wake word.
    pub mapped: u64,
    /// Bytes of device memory: claims.
    pub device: u64,
    /// Maximum number of threads.
    pub threads: usize,
}

/// The polling thread's strategy of waiting for requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// Spins, then yields, then sleeps: until the device wakes it, or for growing times if the
    /// device cannot.
    Adaptive,
    /// Sleeps for this time after every poll, even if that found a request. For comparison with the
    /// parallel reverse-offload patch, which sleeps for one microsecond.
    Sleep(Duration),
}

/// Serves the requests of one device.
pub(crate) struct Server {
    device: Arc<dyn Device>,
    config: Config,
    /// Device memory that calls must not write.
    pub(crate) reserved: Arc<Reserved>,
    pub(crate) present: PresentTable,
    wires: Wires,
    poller: PollerState,
    threads: Threads<PollToken, JoinHandle<()>>,
    requests: Requests,
    output: Output,
}

/// A launch that has begun. Its drop ends the launch, also after a panic.
#[must_use]
pub(crate) struct LaunchGuard<'s> {
    server: &'s Arc<Server>,
    pub(crate) state: Arc<LaunchState>,
    ends_with_kernel: bool,
}

impl LaunchGuard<'_> {
    /// Leaves it to the device to [end](Server::end) the launch, with its kernel.
    pub(crate) fn end_with_kernel(mut self) {
        self.ends_with_kernel = true;
    }
}

impl Drop for LaunchGuard<'_> {
    fn drop(&mut self) {
        if !self.ends_with_kernel {
            self.server.end(&self.state);
        }
    }
}

/// State shared by the requests of all kernels.
struct Requests {
    functions: ArcSwap<FunctionTable>,
    /// The functions that every image may call: those that print and log.
    own: Vec<Arc<RegisteredFunction>>,
    launches: Launches,
    /// The host memory that requests hold.
    budget: Arc<Budget>,
    /// The call that each worker serves.
    in_flight: Mutex<Vec<Weak<InFlight>>>,
    /// The calls of asynchronous functions.
    pending: PendingCalls,
    /// See `deadlock`.
    stall: Mutex<Stall>,
    /// Whether all requests are refused.
    refusing: AtomicBool,
}

impl Server {
    /// A server for `device`. It creates threads and allocates memory when they are needed.
    pub(crate) fn new(device: Arc<dyn Device>, config: Config) -> Arc<Self> {
        let output = Output::default();
        let print = Box::new(Print {
            output: output.text.clone(),
            error: output.error.clone(),
            pieces: Arc::clone(&output.pieces),
        });
        let own = [(FUNCTION, print as Box<dyn HostFunction>)]
            .into_iter()
            .chain(log::functions(device.name(), &output.pieces))
            .map(|(name, function)| RegisteredFunction::typed(name.to_owned(), function))
            .map(Arc::new)
            .collect();
        Arc::new(Self {
            device,
            reserved: Arc::default(),
            present: PresentTable::new(),
            wires: Wires::default(),
            poller: PollerState::new(),
            threads: Threads::new(config.threads, PollToken::default()),
            requests: Requests {
                functions: ArcSwap::default(),
                own,
                launches: Launches::default(),
                budget: Budget::new(config.request_memory),
                in_flight: Mutex::default(),
                pending: PendingCalls::default(),
                stall: Mutex::default(),
                refusing: AtomicBool::new(false),
            },
            output,
            config,
        })
    }

    /// The functions that every image may call: those that print and log.
    pub(crate) fn own_functions(&self) -> &[Arc<RegisteredFunction>] {
        &self.requests.own
    }

    /// Changes the table of functions; `change` may run more than once. Removed functions are
    /// dropped after their last call has returned, without holding a lock: a function may own
    /// programs, and dropping those changes the table again.
    pub(crate) fn change_functions(&self, change: impl Fn(&mut FunctionTable)) {
        self.requests.functions.rcu(|table| {
            let mut table = FunctionTable::clone(table);
            change(&mut table);
            table
        });
    }

    /// The number of requests taken so far.
    pub(crate) fn requests(&self) -> u64 {
        self.threads.requests()
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.threads.count()
    }

    /// Prepares for the launch of a kernel. If it cannot call the host (`calls_host`), it needs no
    /// thread and no polling. Dropping the result ends the launch.
    ///
    /// # Errors
    /// If there is no serving thread and none can be created.
    pub(crate) fn begin(
        self: &Arc<Self>,
        kernel: &str,
        calls_host: bool,
    ) -> Result<LaunchGuard<'_>, DeviceError> {
        if calls_host {
            let create = |number| self.spawn(number);
            self.threads
                .start(create)
                .map_err(|reason| DeviceError::System {
                    what: "creating a thread that serves calls".to_owned(),
                    reason,
                })?;
        }
        let state = self.requests.launches.begin(kernel, calls_host);
        if calls_host {
            self.poller.begin_kernel();
        }
        Ok(LaunchGuard {
            server: self,
            state,
            ends_with_kernel: false,
        })
    }

    /// Ends a launch whose kernel has ended, or did not start. Does nothing if it has ended before.
    pub(crate) fn end(self: &Arc<Self>, launch: &LaunchState) {
        if launch.calls_host {
            // Before the launch ends, so that protocol errors are reported for it.
            self.take_text(None);
        }
        let was_running = self.requests.launches.end(launch);
        if was_running && launch.calls_host {
            self.poller.end_kernel();
            self.drop_unfinished_texts(launch.key);
            if !self.poller.is_running() {
                self.drop_unfinished_texts(0);
            }
            self.give_up_calls();
        }
        launch.end_span();
    }

    /// Wakes the poller; also called for device threads.
    pub(crate) fn wake_host(&self) {
        self.poller.wake_word.wake();
    }

    /// Refuses all requests from now on.
    pub(crate) fn refuse(&self) {
        // Relaxed: a request that is taken concurrently may be served.
        self.requests.refusing.store(true, Ordering::Relaxed);
    }

    /// Ends all threads and waits for them, except this one and those whose functions run on after their
    /// calls were aborted. No kernel runs any more.
    pub(crate) fn stop(&self) {
        let handles = self.threads.stop();
        self.poller.stop();
        // A host function may drop the last owner of a runtime; its thread cannot join itself. A
        // function whose call was aborted may never return. Both threads keep what they use, and end
        // when the function returns.
        let mut busy = self.abandoned_threads();
        busy.insert(std::thread::current().id());
        for handle in handles {
            if !busy.contains(&handle.thread().id()) {
                let _ = handle.join();
            }
        }
    }
}
