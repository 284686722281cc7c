//! Serving: the threads that take requests from the wires and run host functions.
//!
//! Leader and followers. One thread *watches*: it holds the [`Role`] and polls
//! the wires. When it has taken a request it lets go of the role, runs the
//! function itself and comes back, so that on the fast path no request changes
//! threads. Somebody else has to watch meanwhile:
//!
//! - if the function is known to be slow, a follower is woken, or a thread
//!   created, before it is entered;
//! - otherwise a *standby* follower looks every [`TICK`] whether the watcher is
//!   stuck in a function, and takes over.
//!
//! So a host function that never returns delays others by one tick at most, until
//! all threads are in use. While no kernel runs, all threads sleep.

mod bell;
mod idle;
mod launch;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use shared_abi::wire::WireKind;

use self::bell::Bell;
use self::idle::Idle;
pub(crate) use self::launch::LaunchState;
use self::launch::Launches;
use self::worker::Worker;
use crate::device::{Device, MappedMemory};
use crate::error::{CallError, DeviceError};
use crate::functions::FunctionTable;
use crate::map::PresentTable;
use crate::runtime::Cost;
use crate::wire::{
    Copier, GccRingWire, GccSlotWire, NativeWire, Poll, Taken, Watch, Wire, gcc_slot,
};

pub use self::worker::{CallContext, current_call};

/// How often the standby looks while requests come in.
const TICK: Duration = Duration::from_millis(1);

/// How often it looks while a kernel runs but none come in.
const LONG_TICK: Duration = Duration::from_millis(100);

/// What a server is made with.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Most threads.
    pub(crate) threads: usize,
    /// Slots of a `native` wire.
    pub(crate) slots: u32,
    /// Size of the bounce area.
    pub(crate) bounce_bytes: usize,
    /// How to wait for requests.
    pub(crate) waiting: Waiting,
    /// The turn or ticket that wires start at.
    pub(crate) first_turn: u32,
}

/// How the watching thread waits while there is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// Spins shortly, then yields, then sleeps until the device's bell or, on
    /// devices without one, for a growing while.
    Adaptive,
    /// Sleeps that long after every look, whatever it found: what the parallel
    /// reverse-offload patch does, with one microsecond. For comparison.
    Sleep(Duration),
}

/// What finds the requests of a wire.
struct Source {
    wire: WireIndex,
    watcher: Box<dyn Watch>,
}

/// A wire's place in [`Server::wires`].
type WireIndex = usize;

/// A wire, and where the device finds it.
struct Attached {
    address: u64,
    wire: Box<dyn Wire>,
}

/// What the thread that watches holds.
#[derive(Default)]
struct Role {
    sources: Vec<Source>,
}

/// The threads.
#[derive(Default)]
struct Pool {
    handles: Vec<JoinHandle<()>>,
    /// Threads that exist.
    threads: usize,
    /// Threads that wait to be needed.
    idle: usize,
    /// Threads of these that have been asked to watch.
    called: usize,
    /// One of them is the standby.
    standby: bool,
}

/// Serves the requests of one device.
pub(crate) struct Server {
    device: Arc<dyn Device>,
    config: Config,
    bounce: Arc<MappedMemory>,
    claims: u64,
    bell: Bell,
    role: Mutex<Role>,
    /// Wires that the watcher has not yet seen.
    new_sources: Mutex<Vec<Source>>,
    has_new_sources: AtomicBool,
    /// By [`WireKind`]; made when the first image speaks it.
    wires: [OnceLock<Attached>; WireKind::ALL.len()],
    attaching: Mutex<()>,
    functions: Mutex<Arc<FunctionTable>>,
    /// Grows with every change of `functions`.
    functions_version: AtomicU64,
    pub(crate) present: PresentTable,
    launches: Launches,
    pool: Mutex<Pool>,
    needed: Condvar,
    /// Requests taken so far; written by the watcher alone.
    taken: AtomicU64,
    /// The standby looks every `TICK`.
    ticking: AtomicBool,
    /// Kernels that run.
    running: AtomicUsize,
    /// Requests are refused.
    refusing: AtomicBool,
    /// Threads are to end.
    stopping: AtomicBool,
}

/// See [`crate::device`]: nothing these mutexes guard is left inconsistent by a
/// panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// A server for `device`. No thread runs yet.
    pub(crate) fn new(device: Arc<dyn Device>, config: Config) -> Result<Arc<Self>, DeviceError> {
        let bounce = Arc::new(device.alloc_mapped(config.bounce_bytes)?);
        let blocks = (config.bounce_bytes / shared_abi::wire::bounce::BLOCK) as u32;
        let claims = NativeWire::claims(config.slots, blocks, config.first_turn);
        let address = device.alloc(claims.len() as u64)?;
        let mut queue = device.queue()?;
        // SAFETY: `claims` lives until `synchronize` returns.
        unsafe { queue.copy_to_device(address, claims.as_ptr(), claims.len())? };
        queue.synchronize()?;
        let bell = Bell::new(device.alloc_mapped(Bell::BYTES)?);
        Ok(Arc::new(Self {
            device,
            config,
            bounce,
            claims: address,
            bell,
            role: Mutex::default(),
            new_sources: Mutex::default(),
            has_new_sources: AtomicBool::new(false),
            wires: Default::default(),
            attaching: Mutex::default(),
            functions: Mutex::default(),
            functions_version: AtomicU64::new(1),
            present: PresentTable::new(),
            launches: Launches::default(),
            pool: Mutex::default(),
            needed: Condvar::new(),
            taken: AtomicU64::new(0),
            ticking: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            refusing: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        }))
    }

    pub(crate) fn bell_address(&self) -> u64 {
        self.bell.device_address()
    }

    pub(crate) fn claims_address(&self) -> u64 {
        self.claims
    }

    pub(crate) fn bounce(&self) -> &MappedMemory {
        &self.bounce
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Device address of the wire of that kind, which is made if there is none.
    pub(crate) fn wire(&self, kind: WireKind) -> Result<u64, DeviceError> {
        let _attaching = lock(&self.attaching);
        // The kinds are 1, 2 and 3.
        let index = kind.0 as usize - 1;
        let place = &self.wires[index];
        if let Some(attached) = place.get() {
            return Ok(attached.address);
        }
        let first = self.config.first_turn;
        let (address, wire, watcher): (u64, Box<dyn Wire>, Box<dyn Watch>) = match kind {
            WireKind::GCC_SLOT => {
                let memory = self.device.alloc_mapped(gcc_slot::BYTES)?;
                let wire = GccSlotWire::new(memory, Arc::clone(&self.bounce));
                let watcher = wire.watcher();
                (wire.device_address(), Box::new(wire), watcher)
            }
            WireKind::GCC_RING => {
                let memory = self.device.alloc_mapped(GccRingWire::BYTES)?;
                let wire = GccRingWire::new(memory, Arc::clone(&self.bounce), first);
                let watcher = wire.watcher(first);
                (wire.device_address(), Box::new(wire), watcher)
            }
            _ => {
                let slots = self.config.slots;
                let memory = self.device.alloc_mapped(NativeWire::bytes(slots))?;
                let wire = NativeWire::new(memory, slots, first);
                let watcher = Box::new(wire.watcher(first));
                (wire.device_address(), Box::new(wire), watcher)
            }
        };
        place.get_or_init(|| Attached { address, wire });
        let source = Source {
            wire: index,
            watcher,
        };
        lock(&self.new_sources).push(source);
        // Release: the watcher that sees the flag finds the source. The mutex
        // would do too; this says it where it is read.
        self.has_new_sources.store(true, Ordering::Release);
        Ok(address)
    }

    /// What calls cost with one wire of that kind.
    pub(crate) fn cost(&self, kind: WireKind) -> Cost {
        let wire = match kind {
            WireKind::GCC_SLOT => gcc_slot::BYTES,
            WireKind::GCC_RING => GccRingWire::BYTES,
            _ => NativeWire::bytes(self.config.slots),
        };
        let blocks = (self.config.bounce_bytes / shared_abi::wire::bounce::BLOCK) as u32;
        Cost {
            mapped: (wire + self.config.bounce_bytes + Bell::BYTES) as u64,
            device: shared_abi::wire::claims::size(self.config.slots, blocks) as u64,
            threads: self.config.threads,
        }
    }

    /// Changes the table of functions.
    pub(crate) fn change_functions(&self, change: impl FnOnce(&mut FunctionTable)) {
        let mut functions = lock(&self.functions);
        change(Arc::make_mut(&mut functions));
        // Release: a worker that sees the version finds the table, by the mutex.
        self.functions_version.fetch_add(1, Ordering::Release);
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
    /// One that cannot call the host (`calls_host`) costs no thread and no look.
    ///
    /// # Errors
    /// There is no thread that would serve its calls, and none can be created.
    pub(crate) fn begin(
        self: &Arc<Self>,
        kernel: &str,
        calls_host: bool,
    ) -> Result<Arc<LaunchState>, DeviceError> {
        if calls_host {
            let mut pool = lock(&self.pool);
            if pool.threads == 0 {
                self.spawn(&mut pool)
                    .map_err(|source| DeviceError::System {
                        what: "creating a thread that serves calls".to_owned(),
                        source,
                    })?;
            }
        }
        let launch = self.launches.begin(kernel, calls_host);
        if calls_host {
            self.running.fetch_add(1, Ordering::SeqCst);
            // Whoever watches may sleep because nothing ran.
            self.bell.ring();
        }
        Ok(launch)
    }

    /// A kernel has ended, or did not even start.
    pub(crate) fn end(&self, launch: &LaunchState) {
        self.launches.end(launch);
        if launch.calls_host {
            self.running.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// What a device thread rings.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    /// Refuses all requests from now on.
    pub(crate) fn refuse(&self) {
        self.refusing.store(true, Ordering::SeqCst);
    }

    /// Ends all threads and waits for them. No kernel runs any more.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.bell.ring();
        let handles = {
            let mut pool = lock(&self.pool);
            self.needed.notify_all();
            std::mem::take(&mut pool.handles)
        };
        let me = std::thread::current().id();
        // The last owner of a runtime may be a host function's thread; that one
        // cannot wait for itself and ends when it gets back to its loop.
        for handle in handles
            .into_iter()
            .filter(|handle| handle.thread().id() != me)
        {
            let _ = handle.join();
        }
        self.device.free(self.claims);
    }

    fn is_stopping(&self) -> bool {
        // Relaxed: seen soon enough; `bell` and `needed` wake those who sleep.
        self.stopping.load(Ordering::Relaxed)
    }

    fn is_running(&self) -> bool {
        // Relaxed: as above.
        self.running.load(Ordering::Relaxed) != 0
    }

    fn spawn(self: &Arc<Self>, pool: &mut Pool) -> std::io::Result<()> {
        let server = Arc::clone(self);
        let name = format!("serve {}", pool.threads);
        let handle = std::thread::Builder::new()
            .name(name)
            .spawn(move || server.thread())?;
        pool.handles.push(handle);
        pool.threads += 1;
        Ok(())
    }

    /// The life of a serving thread.
    fn thread(self: Arc<Self>) {
        crate::sleep::sharpen();
        let mut worker = Worker::new(&self);
        loop {
            match self.role.try_lock() {
                Ok(mut role) => match self.watch(&mut role) {
                    None => return,
                    Some((wire, taken)) => {
                        drop(role);
                        worker.serve(&self, self.attached(wire), &taken);
                    }
                },
                Err(TryLockError::Poisoned(_)) => self.role.clear_poison(),
                Err(TryLockError::WouldBlock) => {
                    if !self.follow() {
                        return;
                    }
                }
            }
        }
    }

    /// Watches until there is a request; `None` when the server stops.
    fn watch(&self, role: &mut Role) -> Option<(WireIndex, Taken)> {
        let mut idle = Idle::new(self.config.waiting);
        loop {
            if self.is_stopping() {
                return None;
            }
            if let Some(found) = self.poll(role, Watch::poll) {
                return Some(found);
            }
            if !self.is_running() {
                self.bell.sleep(|| self.is_running() || self.is_stopping());
                idle = Idle::new(self.config.waiting);
            } else if idle.is_over() && self.device.has_bell() {
                // Edge `W1`, host end: see `Bell::sleep`.
                let mut found = None;
                self.bell.sleep(|| {
                    found = self.poll(role, Watch::poll_all);
                    found.is_some() || !self.is_running() || self.is_stopping()
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

    /// Looks at every wire once, with one of the methods of [`Watch`].
    fn poll(
        &self,
        role: &mut Role,
        look: fn(&mut (dyn Watch + 'static)) -> Poll,
    ) -> Option<(WireIndex, Taken)> {
        if self.has_new_sources.load(Ordering::Acquire) {
            self.has_new_sources.store(false, Ordering::Relaxed);
            role.sources.append(&mut lock(&self.new_sources));
        }
        for source in &mut role.sources {
            match look(&mut *source.watcher) {
                Poll::Empty => {}
                Poll::Taken(taken) => {
                    // Relaxed: only the holder of the role writes it, and the
                    // standby only compares.
                    let count = self.taken.load(Ordering::Relaxed);
                    self.taken.store(count + 1, Ordering::Relaxed);
                    return Some((source.wire, taken));
                }
                Poll::Broken(reason) => {
                    let wire = self.attached(source.wire).name();
                    self.launches
                        .report(0, CallError::Protocol { wire, reason });
                }
            }
        }
        None
    }

    /// Waits until this thread is needed; `false` when the server stops.
    fn follow(&self) -> bool {
        let mut pool = lock(&self.pool);
        pool.idle += 1;
        let mut standby = false;
        let mut seen = self.requests();
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
                // Relaxed, here and below: a hint that saves waking us; if the
                // watcher misses it, our next look is at most LONG_TICK away.
                self.ticking.store(true, Ordering::Relaxed);
            }
            if !standby {
                pool = self
                    .needed
                    .wait(pool)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let tick = if self.ticking.load(Ordering::Relaxed) {
                TICK
            } else {
                LONG_TICK
            };
            let (guard, timeout) = self
                .needed
                .wait_timeout(pool, tick)
                .unwrap_or_else(PoisonError::into_inner);
            pool = guard;
            if timeout.timed_out() {
                let now = self.requests();
                let quiet = now == std::mem::replace(&mut seen, now);
                // Nobody watches, and did not a tick ago either.
                if quiet && self.is_running() && self.role.try_lock().is_ok() {
                    break true;
                }
                self.ticking.store(!quiet, Ordering::Relaxed);
            }
        };
        pool.idle -= 1;
        if standby {
            pool.standby = false;
            self.ticking.store(false, Ordering::Relaxed);
        }
        needed
    }

    /// Sees to it that somebody watches while the caller runs a host function.
    fn hand_over(self: &Arc<Self>, slow: bool) {
        if (!slow && self.ticking.load(Ordering::Relaxed)) || self.config.threads == 1 {
            return;
        }
        let mut pool = lock(&self.pool);
        if pool.idle > pool.called {
            pool.called += 1;
            // Whoever wakes first sees the call; there is one waiter per call.
            self.needed.notify_one();
        } else if pool.called == 0 && pool.threads < self.config.threads {
            // No failure: there is at least the caller, who watches again when the
            // function has run.
            if let Err(error) = self.spawn(&mut pool) {
                tracing::warn!(%error, threads = pool.threads, "no further thread to serve calls");
            }
        }
    }

    /// Waits on a serving thread: serves requests until `done`, since the kernel
    /// that a host function waits for may need this very thread.
    pub(crate) fn serve_until(self: &Arc<Self>, done: impl Fn() -> bool) {
        let mut worker = None;
        let mut idle = Idle::new(Waiting::Adaptive);
        while !done() {
            let found = match self.role.try_lock() {
                Ok(mut role) => self.poll(&mut role, Watch::poll),
                Err(_) => None,
            };
            match found {
                Some((wire, taken)) => {
                    let worker = worker.get_or_insert_with(|| Worker::new(self));
                    worker.serve(self, self.attached(wire), &taken);
                    idle = Idle::new(Waiting::Adaptive);
                }
                None => idle.wait(),
            }
        }
    }

    fn attached(&self, index: WireIndex) -> &dyn Wire {
        match self.wires[index].get() {
            Some(attached) => &*attached.wire,
            None => unreachable!("a wire is attached before its watcher looks at it"),
        }
    }

    fn copier(&self) -> Copier {
        Copier::new(Arc::clone(&self.device), Arc::clone(&self.bounce))
    }
}
