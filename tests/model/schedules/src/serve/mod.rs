//! A server: host-rt's poller, threads and main loop over one wire per launch, and stand-ins for
//! the rest.

#[path = "../../../../../host-rt/src/serve/call_context.rs"]
mod call_context;
#[path = "../../../../../host-rt/src/serve/call_state.rs"]
#[expect(dead_code, reason = "only messages need to know aborted calls")]
mod call_state;
#[path = "../../../../../host-rt/src/serve/change_flag.rs"]
mod change_flag;
mod deadlock;
#[path = "../../../../../host-rt/src/serve/deferred.rs"]
mod deferred;
mod failures;
mod idle;
mod output;
#[path = "../../../../../host-rt/src/serve/panic_message.rs"]
#[expect(dead_code, reason = "only workers have panics of host functions")]
mod panic_message;
#[path = "../../../../../host-rt/src/serve/poller.rs"]
#[expect(dead_code, reason = "text is not modelled")]
mod poller;
#[path = "../../../../../host-rt/src/serve/served_wire.rs"]
mod served_wire;
use self::output as text;
#[path = "../../../../../host-rt/src/serve/thread_loop.rs"]
mod thread_loop;
#[path = "../../../../../host-rt/src/serve/threads/mod.rs"]
mod threads;
#[path = "../../../../../host-rt/src/serve/wake.rs"]
#[expect(dead_code, reason = "the model allocates the word")]
mod wake;
mod worker;

use std::ptr::NonNull;
use std::sync::Arc;

use shared_abi::words::Coherent;

pub use self::call_context::{CallContext, current_call};
use self::failures::Launches;
use self::output::{Device, Output, Wires};
pub(crate) use self::panic_message::panic_message;
use self::poller::{PollToken, PollerState};
use self::served_wire::{ServedWire, Source};
pub(crate) use self::thread_loop::serve_until;
use self::threads::Threads;
use self::worker::Record;
use crate::base::random::pause;
use crate::base::sync::{
    AtomicBool, AtomicUsize, Condvar, JoinHandle, Mutex, Ordering, lock, spawn, wait,
};
use crate::device::{DeviceAddr, Fault, MappedMemory};
use crate::wire::{Call, Poller, ProtocolError, Status, Wire};

/// An error of a call.
pub(crate) enum CallError {
    Protocol {
        #[expect(dead_code, reason = "only messages name the wire")]
        wire: &'static str,
        reason: ProtocolError,
    },
}

/// An error of a launch.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The kernel failed.
    #[error("{0}")]
    Kernel(Fault),
    /// It has passed its deadline.
    #[error("deadline")]
    Deadline {},
}

/// The strategy of waiting for requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Spins, then sleeps.
    Adaptive,
    /// Sleeps after every poll.
    Sleep,
}

struct Config {
    waiting: Waiting,
}

impl Config {
    fn keep_bytes(&self) -> usize {
        0
    }
}

struct Requests {
    launches: Launches,
    refusing: AtomicBool,
    /// The calls that workers serve.
    records: Mutex<Vec<Arc<Record>>>,
}

/// A server of a device.
pub struct Server {
    device: Device,
    config: Config,
    wires: Wires,
    poller: PollerState,
    threads: Threads<PollToken, JoinHandle<()>>,
    requests: Requests,
    output: Output,
    /// The wake word.
    word: NonNull<u64>,
    next_launch: AtomicUsize,
    /// Sources that were dropped.
    retired: Arc<AtomicUsize>,
}

// SAFETY: all accesses to the word are atomic.
unsafe impl Send for Server {}
// SAFETY: as above.
unsafe impl Sync for Server {}

impl Server {
    /// A server with at most `limit` threads, of a device that can wake the host or not.
    #[must_use]
    pub fn new(limit: usize, can_wake: bool, waiting: Waiting) -> Arc<Self> {
        let word = NonNull::from(Box::leak(Box::new([0u64; 16]))).cast::<u64>();
        let poller = PollerState::new();
        poller.wake_word.attach(MappedMemory {
            host: word.cast(),
            device: DeviceAddr(0),
        });
        Arc::new(Self {
            device: Device { can_wake },
            config: Config { waiting },
            wires: Wires::default(),
            poller,
            threads: Threads::new(limit, PollToken::default()),
            requests: Requests {
                launches: Launches::default(),
                refusing: AtomicBool::new(false),
                records: Mutex::default(),
            },
            output: Output::default(),
            word,
            next_launch: AtomicUsize::new(1),
            retired: Arc::default(),
        })
    }

    /// Begins a launch, with a wire of its own.
    pub fn begin(self: &Arc<Self>) -> Kernel {
        let created = self.threads.start(|number| self.spawn(number));
        assert!(created.is_ok(), "{created:?}");
        let key = self.next_launch.fetch_add(1, Ordering::Relaxed) as u32;
        let wire = Arc::<Wire>::default();
        let served = Arc::new(ServedWire::new(Arc::clone(&wire)));
        served.launch.store(key, Ordering::Relaxed);
        let retired = Arc::clone(&self.retired);
        self.poller.add_source(Source {
            poller: Box::new(Poller {
                wire: Arc::clone(&wire),
                retired: Box::new(move || {
                    retired.fetch_add(1, Ordering::Relaxed);
                }),
            }),
            wire: Arc::clone(&served),
        });
        self.poller.begin_kernel();
        Kernel {
            server: Arc::clone(self),
            served,
            running: Arc::default(),
            key,
        }
    }

    /// Refuses all later calls.
    pub fn refuse(&self) {
        // Relaxed: as in host-rt.
        self.requests.refusing.store(true, Ordering::Relaxed);
    }

    /// Aborts the calls of a launch.
    pub fn abort(&self, key: u32) {
        self.requests.launches.abort(key);
        for record in lock(&self.requests.records).clone() {
            record.abort(key);
        }
    }

    /// Holds the token without polling.
    pub fn hold_token(&self) {
        self.threads.with_token(|_| pause());
    }

    /// The number of requests taken.
    pub fn requests(&self) -> u64 {
        self.threads.requests()
    }

    fn threads(&self) -> usize {
        self.threads.count()
    }

    /// The number of wires that are not polled any more.
    pub fn retired_wires(&self) -> usize {
        self.retired.load(Ordering::Relaxed)
    }

    /// Ends all threads.
    pub fn stop(&self) {
        let handles = self.threads.stop();
        self.poller.stop();
        for handle in handles {
            assert!(handle.join().is_ok(), "a thread failed");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: `new` leaked it, and no thread accesses it any more.
        drop(unsafe { Box::from_raw(self.word.cast::<[u64; 16]>().as_ptr()) });
    }
}

/// The device threads of a launch.
#[derive(Default)]
struct Running {
    count: Mutex<usize>,
    ended: Condvar,
}

/// A kernel that runs.
pub struct Kernel {
    server: Arc<Server>,
    served: Arc<ServedWire>,
    running: Arc<Running>,
    key: u32,
}

impl Kernel {
    /// Key of the launch.
    #[must_use]
    pub fn key(&self) -> u32 {
        self.key
    }

    /// A device thread.
    pub fn thread(&self, body: impl FnOnce(&DeviceThread) + Send + 'static) {
        *lock(&self.running.count) += 1;
        let running = Arc::clone(&self.running);
        let device = DeviceThread {
            server: Arc::clone(&self.server),
            wire: Arc::clone(&self.served.wire),
        };
        spawn(move || {
            body(&device);
            *lock(&running.count) -= 1;
            running.ended.notify_all();
        });
    }

    /// Waits until the kernel has ended: in a host function, also serves calls.
    pub fn wait(self) {
        let is_done = || *lock(&self.running.count) == 0;
        if !serve_until(is_done) {
            let mut count = lock(&self.running.count);
            while *count > 0 {
                count = wait(&self.running.ended, count);
            }
        }
        // Relaxed: as in host-rt, `sources_changed` orders it.
        self.served.retired.store(true, Ordering::Relaxed);
        self.server.poller.request_refresh();
        self.server.poller.end_kernel();
    }
}

/// A device thread.
pub struct DeviceThread {
    server: Arc<Server>,
    wire: Arc<Wire>,
}

impl DeviceThread {
    /// Makes a call, and does not wait.
    pub fn publish(&self, call: &Arc<Call>) {
        self.wire.begin(call);
        pause();
        self.wire.publish(call);
        self.wake();
    }

    /// Makes a call and waits until it is completed.
    pub fn call(&self, call: &Arc<Call>) -> Status {
        self.publish(call);
        call.wait()
    }

    /// Breaks the protocol; `report` runs for each report of it.
    pub fn break_protocol(&self, count: usize, report: impl Fn() + Send + Sync + 'static) {
        self.wire.break_protocol(count, report);
        self.wake();
    }

    fn wake(&self) {
        pause();
        if self.server.device.can_wake {
            // SAFETY: the server keeps the word.
            let word = unsafe { Coherent::new(self.server.word.as_ptr().cast()) };
            revoff_device::wake::wake_if_sleeping(&word, || {
                pause();
                self.server.poller.wake_word.wake();
            });
        }
    }
}
