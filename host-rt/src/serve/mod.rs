//! Serving: the threads that take requests from the wires and run host functions.
//!
//! | module | job |
//! |---|---|
//! | `threads` | which thread polls, waits and is woken: a state machine |
//! | `poller`, `idle`, `wake` | polling the wires, and sleeping |
//! | `serving` | the life of a thread |
//! | `worker` | serving one request |
//! | `wires`, `queue` | the wires that are served |
//! | `functions`, `launch`, `in_flight` | host functions, launches, calls |
//! | `output_flush`, `text` | what kernels print |
//!
//! While no kernel runs, all threads sleep.

mod error;
mod functions;
mod idle;
mod in_flight;
mod launch;
mod output_flush;
mod poller;
mod queue;
mod serving;
mod sync;
mod text;
mod threads;
mod wake;
mod wires;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use shared_abi::wire::bounce::BLOCK;

pub use self::error::{CallError, LaunchError};
pub(crate) use self::functions::{Entry, FunctionTable};
pub use self::functions::{ForeignFunction, RawFunction, RequestMemory};
use self::in_flight::InFlight;
pub(crate) use self::launch::LaunchState;
use self::launch::Launches;
use self::output_flush::Output;
use self::poller::{PollToken, Poller};
pub use self::queue::LaunchQueue;
use self::threads::Threads;
use self::wires::Wires;
use crate::base::lock::lock;
use crate::device::{Device, DeviceError};
use crate::map::{Budget, PresentTable};
use crate::wire::{Reserved, WireConfig};

pub use self::worker::{CallContext, current_call};
pub(crate) use self::worker::{panic_message, serve_until};

/// What a server is made with.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Most threads.
    pub(crate) threads: usize,
    /// How wires are made.
    pub(crate) wire: WireConfig,
    /// Size of the bounce area.
    pub(crate) bounce_bytes: usize,
    /// Host memory in bytes that all requests may hold together.
    pub(crate) request_memory: u64,
    /// How to wait for requests.
    pub(crate) waiting: Waiting,
}

impl Config {
    /// What a serving thread keeps of a request's memory for the next: little beside what all
    /// requests may hold.
    fn keep_bytes(&self) -> usize {
        let share = self.request_memory / (16 * self.threads.max(1) as u64);
        share.min(16 << 20) as usize
    }

    fn bounce_blocks(&self) -> u32 {
        (self.bounce_bytes / BLOCK) as u32
    }
}

/// What a runtime has allocated for calls to the host, in bytes; bounded however
/// many kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Mapped memory: wires, bounce area, wake word.
    pub mapped: u64,
    /// Device memory: claims.
    pub device: u64,
    /// Most threads.
    pub threads: usize,
}

/// How the polling thread waits while there is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// Spins shortly, then yields, then sleeps until the device wakes it or, on
    /// devices that cannot, for a growing while.
    Adaptive,
    /// Sleeps that long after every poll, whatever it found: what the parallel
    /// reverse-offload patch does, with one microsecond. For comparison.
    Sleep(Duration),
}

/// Serves the requests of one device.
pub(crate) struct Server {
    device: Arc<dyn Device>,
    config: Config,
    /// Device memory that no call may have written.
    pub(crate) reserved: Arc<Reserved>,
    pub(crate) present: PresentTable,
    wires: Wires,
    poller: Poller,
    threads: Threads<PollToken, JoinHandle<()>>,
    requests: Requests,
    output: Output,
}

/// What the requests of all kernels share.
struct Requests {
    functions: ArcSwap<FunctionTable>,
    launches: Launches,
    /// What they hold of the host's memory.
    budget: Arc<Budget>,
    /// The call that each worker serves.
    in_flight: Mutex<Vec<Weak<InFlight>>>,
    /// Host functions that wait for kernels.
    nested_waits: AtomicUsize,
    /// They are refused.
    refusing: AtomicBool,
}

impl Server {
    /// A server for `device`. No thread runs yet, and nothing is allocated.
    pub(crate) fn new(device: Arc<dyn Device>, config: Config) -> Arc<Self> {
        Arc::new(Self {
            device,
            reserved: Arc::default(),
            present: PresentTable::new(),
            wires: Wires::default(),
            poller: Poller::default(),
            threads: Threads::new(config.threads, PollToken::default()),
            requests: Requests {
                functions: ArcSwap::default(),
                launches: Launches::default(),
                budget: Budget::new(config.request_memory),
                in_flight: Mutex::default(),
                nested_waits: AtomicUsize::new(0),
                refusing: AtomicBool::new(false),
            },
            output: Output::default(),
            config,
        })
    }

    /// Changes the table of functions; `change` may run more than once. What the table no longer
    /// has is dropped when the last call of it has returned, and with no lock held: a function may
    /// own programs, whose end changes the table again.
    pub(crate) fn change_functions(&self, change: impl Fn(&mut FunctionTable)) {
        self.requests.functions.rcu(|table| {
            let mut table = FunctionTable::clone(table);
            change(&mut table);
            table
        });
    }

    /// Requests served so far.
    pub(crate) fn requests(&self) -> u64 {
        self.threads.requests()
    }

    /// Threads that exist.
    pub(crate) fn threads(&self) -> usize {
        self.threads.count()
    }

    /// A kernel is about to run.
    ///
    /// One that cannot call the host (`calls_host`) costs no thread and no poll.
    ///
    /// # Errors
    /// There is no thread that would serve its calls, and none can be created.
    pub(crate) fn begin(
        self: &Arc<Self>,
        kernel: &str,
        calls_host: bool,
    ) -> Result<Arc<LaunchState>, DeviceError> {
        if !calls_host {
            return Ok(self.requests.launches.begin(kernel, calls_host));
        }
        let create = |number| self.spawn(number);
        self.threads
            .start(create)
            .map_err(|reason| DeviceError::System {
                what: "creating a thread that serves calls".to_owned(),
                reason,
            })?;
        let launch = self.requests.launches.begin(kernel, calls_host);
        self.poller.begin_kernel();
        Ok(launch)
    }

    /// A kernel has ended, or did not even start.
    pub(crate) fn end(&self, launch: &LaunchState) {
        if launch.calls_host {
            // While the launch can be blamed for what is found.
            self.take_text(None);
        }
        self.requests.launches.end(launch);
        if launch.calls_host {
            self.poller.end_kernel();
        }
    }

    /// Wakes the poller, also for device threads.
    pub(crate) fn wake_host(&self) {
        self.poller.wake_word.wake();
    }

    /// Refuses all requests from now on.
    pub(crate) fn refuse(&self) {
        self.requests.refusing.store(true, Ordering::SeqCst);
    }

    /// Ends all threads and waits for them. No kernel runs any more.
    pub(crate) fn stop(&self) {
        let handles = self.threads.stop();
        self.poller.stop();
        let me = std::thread::current().id();
        // The last owner of a runtime may be a host function's thread; that one
        // cannot wait for itself and ends when it gets back to its loop.
        for handle in handles
            .into_iter()
            .filter(|handle| handle.thread().id() != me)
        {
            let _ = handle.join();
        }
        if let Some(claims) = self.wires.claims() {
            self.device.free(claims);
        }
    }
}
