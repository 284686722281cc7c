//! Serving: the threads that take requests from the wires and run host functions.
//!
//! Leader and followers. One thread *polls*: it holds the [`PollToken`] and polls
//! the wires. When it has taken a request it lets go of the token, runs the
//! function itself and comes back, so that on the fast path no request changes
//! threads. Somebody else has to poll meanwhile:
//!
//! - if the function is known to be slow, a follower is woken, or a thread
//!   created, before it is entered;
//! - otherwise a *standby* follower checks every millisecond whether the poller is
//!   stuck in a function, and takes over.
//!
//! So a host function that unexpectedly never returns delays others by a few ticks
//! (up to 100 ms if nothing was called for a while before), until all threads are
//! in use. While no kernel runs, all threads sleep.

mod error;
mod functions;
mod idle;
mod in_flight;
mod launch;
mod output_flush;
mod pool;
mod queue;
mod text;
mod wake;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use shared_abi::image::DeviceConfig;
use shared_abi::wire::bounce::BLOCK;
use shared_abi::wire::{WireKind, claims};

pub use self::error::{CallError, LaunchError};
pub(crate) use self::functions::{Entry, FunctionTable};
pub use self::functions::{ForeignFunction, RawFunction, RequestMemory};
use self::in_flight::InFlight;
pub(crate) use self::launch::LaunchState;
use self::launch::Launches;
use self::output_flush::OutputFlush;
use self::pool::{PollToken, Pool, Served, Source};
pub use self::queue::LaunchQueue;
use self::queue::LaunchQueues;
use self::text::Text;
use self::wake::WakeWord;
use crate::base::lock::lock;
use crate::device::{Device, DeviceError, Fill};
use crate::map::{Budget, PresentTable};
use crate::wire::{
    Copier, DeviceAccess, KINDS, Reservation, Reserved, WireConfig, WireParts, native,
};

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

/// Most queues for serving threads that are made before they are needed.
const READY_QUEUES: usize = 32;

/// Queues for launches, and for copies that host functions make, that are made before they
/// are needed, beside those: as many as kernels commonly run at a time. It is `cuda:N` that
/// needs this: a queue of `hsa:N` gets what it takes by its first kernel, whatever runs then.
const READY_LAUNCHES: usize = 32;

/// Memory that all wires of a device share.
struct Common {
    /// How requests reach the device's memory, the bounce area among it.
    access: DeviceAccess,
    /// Device address of the claims.
    claims: u64,
    _reservation: Reservation,
}

impl Common {
    fn new(
        device: &Arc<dyn Device>,
        config: &Config,
        reserved: &Arc<Reserved>,
    ) -> Result<Self, DeviceError> {
        let bounce = Arc::new(device.alloc_mapped(config.bounce_bytes)?);
        let bytes = native::claims(&config.wire, config.bounce_blocks());
        // Queues that the device can give to the threads that will serve: while a kernel
        // waits for a call, making one may mean waiting for the kernel.
        let ready = config.threads.min(READY_QUEUES) + READY_LAUNCHES;
        let mut queues = (0..ready)
            .map(|_| device.queue())
            .collect::<Result<Vec<_>, _>>()?;
        let queue = &mut queues[0];
        let claims = device.alloc(bytes.len() as u64, Fill::Any)?;
        // SAFETY: `bytes` lives until `synchronize` returns.
        let copied = unsafe { queue.copy_to_device(claims, bytes.as_ptr(), bytes.len()) };
        let written = copied.and_then(|()| queue.synchronize());
        if let Err(error) = written {
            device.free(claims);
            return Err(error);
        }
        Ok(Self {
            access: DeviceAccess {
                device: Arc::clone(device),
                bounce,
                reserved: Arc::clone(reserved),
            },
            claims,
            _reservation: reserved.reserve(claims, bytes.len() as u64),
        })
    }
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

/// A wire's place in [`KINDS`] and [`Server::wires`].
fn wire_index(kind: WireKind) -> usize {
    match KINDS.iter().position(|known| known.kind == kind) {
        Some(index) => index,
        None => unreachable!("a runtime chooses among the wires that it knows"),
    }
}

/// Serves the requests of one device.
pub(crate) struct Server {
    device: Arc<dyn Device>,
    config: Config,
    /// Device memory that no call may have written.
    pub(crate) reserved: Arc<Reserved>,
    /// What requests hold of the host's memory.
    budget: Arc<Budget>,
    /// Made with the first wire.
    common: OnceLock<Common>,
    wake_word: WakeWord,
    token: Mutex<PollToken>,
    /// Wires that the poller has not yet seen.
    new_sources: Mutex<Vec<Source>>,
    /// There are new ones, or some that are no longer served.
    sources_changed: AtomicBool,
    /// As [`KINDS`]; made when the first image speaks it.
    wires: [OnceLock<Arc<Served>>; KINDS.len()],
    /// Wires of launches' own.
    launch_queues: LaunchQueues,
    attaching: Mutex<()>,
    functions: ArcSwap<FunctionTable>,
    /// The call that each worker serves.
    in_flight: Mutex<Vec<Weak<InFlight>>>,
    /// Host functions that wait for kernels.
    nested_waits: AtomicUsize,
    pub(crate) present: PresentTable,
    launches: Launches,
    pool: Mutex<Pool>,
    needed: Condvar,
    /// Requests taken so far; written by the poller alone.
    taken: AtomicU64,
    output_flush: OutputFlush,
    /// What kernels have printed.
    text: Text,
    /// The standby checks every `TICK`.
    ticking: AtomicBool,
    /// Kernels that run.
    running: AtomicUsize,
    /// Requests are refused.
    refusing: AtomicBool,
    /// Threads are to end.
    stopping: AtomicBool,
}

impl Server {
    /// A server for `device`. No thread runs yet, and nothing is allocated.
    pub(crate) fn new(device: Arc<dyn Device>, config: Config) -> Arc<Self> {
        Arc::new(Self {
            device,
            reserved: Arc::default(),
            budget: Budget::new(config.request_memory),
            config,
            common: OnceLock::new(),
            wake_word: WakeWord::default(),
            token: Mutex::default(),
            new_sources: Mutex::default(),
            sources_changed: AtomicBool::new(false),
            wires: Default::default(),
            launch_queues: LaunchQueues::default(),
            attaching: Mutex::default(),
            functions: ArcSwap::default(),
            in_flight: Mutex::default(),
            nested_waits: AtomicUsize::new(0),
            present: PresentTable::new(),
            launches: Launches::default(),
            pool: Mutex::default(),
            needed: Condvar::new(),
            taken: AtomicU64::new(0),
            output_flush: OutputFlush::default(),
            text: Text::default(),
            ticking: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            refusing: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        })
    }

    /// What an image that speaks the wire of that kind has to know; makes what
    /// there is not yet.
    pub(crate) fn connect(&self, kind: WireKind) -> Result<DeviceConfig, DeviceError> {
        let _attaching = lock(&self.attaching);
        let common = self.common()?;
        Ok(DeviceConfig {
            wire_kind: kind.0,
            slots: self.config.wire.slots,
            wire: self.attach(kind, common)?,
            claims: common.claims,
            bounce: common.access.bounce.device,
            wake_word: self.wake_word.device_address(),
            bounce_blocks: self.config.bounce_blocks(),
            reserved: 0,
        })
    }

    /// What wires share, which is made if there is none. `attaching` is locked.
    fn common(&self) -> Result<&Common, DeviceError> {
        if let Some(common) = self.common.get() {
            return Ok(common);
        }
        let common = Common::new(&self.device, &self.config, &self.reserved)?;
        self.wake_word
            .attach(self.device.alloc_mapped(WakeWord::BYTES)?);
        Ok(self.common.get_or_init(|| common))
    }

    /// Device address of the wire of that kind, which is made if there is none. `attaching` is
    /// locked.
    fn attach(&self, kind: WireKind, common: &Common) -> Result<u64, DeviceError> {
        let index = wire_index(kind);
        if let Some(served) = self.wires[index].get() {
            return Ok(served.wire.address());
        }
        let config = &self.config.wire;
        let memory = self.device.alloc_mapped((KINDS[index].bytes)(config))?;
        let parts = (KINDS[index].attach)(memory, config, &common.access);
        let served = self.serve_wire(parts);
        Ok(self.wires[index].get_or_init(|| served).wire.address())
    }

    /// Serves a wire from now on.
    fn serve_wire(&self, parts: WireParts) -> Arc<Served> {
        let WireParts { wire, poller } = parts;
        let wire = Arc::new(Served::new(wire));
        lock(&self.new_sources).push(Source {
            poller,
            wire: Arc::clone(&wire),
        });
        self.change_sources();
        wire
    }

    /// Asks the poller to refresh its wires.
    fn change_sources(&self) {
        // Release: the poller that sees the flag finds the source. The mutex
        // would do too; this says it where it is read.
        self.sources_changed.store(true, Ordering::Release);
    }

    /// What calls cost with one wire of that kind.
    pub(crate) fn cost(&self, kind: WireKind) -> Cost {
        let config = &self.config.wire;
        let wire = (KINDS[wire_index(kind)].bytes)(config);
        Cost {
            mapped: (wire + self.config.bounce_bytes + WakeWord::BYTES) as u64,
            device: claims::size(config.slots, self.config.bounce_blocks()) as u64,
            threads: self.config.threads,
        }
    }

    /// Changes the table of functions; `change` may run more than once. What the table no longer
    /// has is dropped when the last call of it has returned, and with no lock held: a function may
    /// own programs, whose end changes the table again.
    pub(crate) fn change_functions(&self, change: impl Fn(&mut FunctionTable)) {
        self.functions.rcu(|table| {
            let mut table = FunctionTable::clone(table);
            change(&mut table);
            table
        });
    }

    /// Requests served so far.
    pub(crate) fn requests(&self) -> u64 {
        // Relaxed: a statistic.
        self.taken.load(Ordering::Relaxed)
    }

    /// Threads that exist.
    pub(crate) fn threads(&self) -> usize {
        lock(&self.pool).threads
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
            return Ok(self.launches.begin(kernel, calls_host));
        }
        let mut pool = lock(&self.pool);
        if pool.threads == 0 {
            self.spawn(&mut pool)
                .map_err(|reason| DeviceError::System {
                    what: "creating a thread that serves calls".to_owned(),
                    reason,
                })?;
        }
        let launch = self.launches.begin(kernel, calls_host);
        // Under the lock: see `wait_for_work`.
        self.running.fetch_add(1, Ordering::SeqCst);
        drop(pool);
        // The poller may sleep because nothing ran.
        self.wake_word.wake();
        Ok(launch)
    }

    /// A kernel has ended, or did not even start.
    pub(crate) fn end(&self, launch: &LaunchState) {
        if launch.calls_host {
            // While the launch can be blamed for what is found.
            self.take_text(None);
        }
        self.launches.end(launch);
        if launch.calls_host {
            self.running.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Wakes the poller, also for device threads.
    pub(crate) fn wake_host(&self) {
        self.wake_word.wake();
    }

    /// Refuses all requests from now on.
    pub(crate) fn refuse(&self) {
        self.refusing.store(true, Ordering::SeqCst);
    }

    /// Ends all threads and waits for them. No kernel runs any more.
    pub(crate) fn stop(&self) {
        let handles = {
            // Under the lock: no thread is created that is not in the list.
            let mut pool = lock(&self.pool);
            self.stopping.store(true, Ordering::SeqCst);
            self.needed.notify_all();
            std::mem::take(&mut pool.handles)
        };
        self.wake_word.wake();
        let me = std::thread::current().id();
        // The last owner of a runtime may be a host function's thread; that one
        // cannot wait for itself and ends when it gets back to its loop.
        for handle in handles
            .into_iter()
            .filter(|handle| handle.thread().id() != me)
        {
            let _ = handle.join();
        }
        if let Some(common) = self.common.get() {
            self.device.free(common.claims);
        }
    }

    fn is_stopping(&self) -> bool {
        // Relaxed: seen soon enough; `wake_word` and `needed` wake those who sleep.
        self.stopping.load(Ordering::Relaxed)
    }

    fn is_running(&self) -> bool {
        // Relaxed: as above.
        self.running.load(Ordering::Relaxed) != 0
    }

    fn copier(&self) -> Copier {
        match self.common.get() {
            Some(common) => common.access.copier(),
            None => unreachable!("only kernels of a connected image are served"),
        }
    }
}
