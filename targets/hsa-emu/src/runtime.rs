//! Process-wide state: agents, and the objects that programs have created.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use emu_driver::calls;
use emu_driver::process::lock;
use gcn_emu::Fault;
use hsa_runtime_sys::*;

use crate::code::{CodeObject, Executable, Symbol};
use crate::copy::{self, Engine};
use crate::event::Events;
use crate::faults;
use crate::gpu::{CPU, Gpu, GpuOptions, number_of};
use crate::memory::{BlockKind, Memory, Owner};
use crate::queue::{Queue, Ring, Shared};
use crate::signal::{Condition, Handlers, Signal, Signals};
use crate::status::{Answer, Status};

/// A queue that a program processes itself, and its doorbell.
pub(crate) struct SoftQueue {
    pub(crate) ring: Ring,
}

/// A queue of either kind.
#[derive(Clone)]
pub(crate) enum AnyQueue {
    Gpu(Arc<Queue>),
    Soft(Arc<SoftQueue>),
}

impl AnyQueue {
    pub(crate) fn ring(&self) -> &Ring {
        match self {
            Self::Gpu(queue) => &queue.ring,
            Self::Soft(queue) => &queue.ring,
        }
    }

    /// Whether it is a queue of the GPU with this number.
    fn is_of(&self, number: u32) -> bool {
        matches!(self, Self::Gpu(queue) if queue.gpu.number == number)
    }
}

/// The runtime.
pub(crate) struct Runtime {
    pub(crate) memory: Arc<Memory>,
    pub(crate) signals: Arc<Signals>,
    pub(crate) events: Arc<Events>,
    pub(crate) handlers: Arc<Handlers>,
    /// GPUs by number; numbers are never reused.
    gpus: RwLock<BTreeMap<u32, Arc<Gpu>>>,
    next_gpu: AtomicU32,
    /// Queues by address.
    queues: RwLock<HashMap<usize, AnyQueue>>,
    /// Readers, and code objects of HSA 1.0.
    pub(crate) readers: Mutex<HashMap<u64, CodeObject>>,
    pub(crate) executables: Mutex<BTreeMap<u64, Executable>>,
    /// Signal groups: the handles of their signals.
    pub(crate) groups: Mutex<HashMap<u64, Vec<hsa_signal_t>>>,
    /// Engine for copies within the host's memory.
    host_engine: OnceLock<Option<Engine>>,
    /// Peak of allocated host memory, in bytes.
    most_pinned: AtomicU64,
    /// Calls of `hsa_init` that no `hsa_shut_down` has matched yet.
    users: Mutex<u32>,
    /// ID of the process that has called `hsa_init`; 0 before. A forked child has none of its threads.
    started_in: AtomicU32,
}

static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();

/// The runtime, started or not.
///
/// # Errors
/// The system cannot reserve its memory.
fn runtime() -> Result<&'static Runtime, &'static io::Error> {
    RUNTIME.get_or_init(Runtime::new).as_ref()
}

impl Runtime {
    fn new() -> io::Result<Self> {
        let memory = Arc::new(Memory::new()?);
        Ok(Self {
            signals: Arc::new(Signals::new(&memory)),
            memory,
            events: Arc::default(),
            handlers: Arc::default(),
            gpus: RwLock::default(),
            next_gpu: AtomicU32::new(0),
            queues: RwLock::default(),
            readers: Mutex::default(),
            executables: Mutex::default(),
            groups: Mutex::default(),
            host_engine: OnceLock::new(),
            most_pinned: AtomicU64::new(0),
            users: Mutex::new(0),
            started_in: AtomicU32::new(0),
        })
    }

    /// All GPUs, in the order of their numbers.
    pub(crate) fn gpus(&self) -> Vec<Arc<Gpu>> {
        let gpus = self.gpus.read().unwrap_or_else(PoisonError::into_inner);
        gpus.values().cloned().collect()
    }

    /// Tells the race checkers of all GPUs that memory is about to be freed, or that they lose it.
    pub(crate) fn forget(&self, address: u64, bytes: u64) {
        for gpu in self.gpus() {
            gpu.machine.forget(address, bytes);
        }
    }

    /// The GPU with a handle.
    pub(crate) fn gpu(&self, agent: hsa_agent_t) -> Answer<Arc<Gpu>> {
        let number = number_of(agent).ok_or(Status::INVALID_AGENT)?;
        let gpus = self.gpus.read().unwrap_or_else(PoisonError::into_inner);
        gpus.get(&number).cloned().ok_or(Status::INVALID_AGENT)
    }

    /// The GPU with a handle; `None` for the processor.
    pub(crate) fn agent(&self, agent: hsa_agent_t) -> Answer<Option<Arc<Gpu>>> {
        match agent.handle {
            CPU => Ok(None),
            _ => self.gpu(agent).map(Some),
        }
    }

    /// Agent that owns memory.
    pub(crate) fn owner(&self, owner: Owner) -> Option<hsa_agent_t> {
        match owner {
            Owner::Cpu => Some(hsa_agent_t { handle: CPU }),
            Owner::Gpu(slot) => {
                let gpus = self.gpus();
                let gpu = gpus.iter().find(|gpu| gpu.slot == slot);
                gpu.map(|gpu| gpu.agent())
            }
        }
    }

    /// Whether a GPU is strict, see [`GpuOptions::is_strict`].
    pub(crate) fn is_strict(&self) -> bool {
        let gpus = self.gpus.read().unwrap_or_else(PoisonError::into_inner);
        gpus.values().any(|gpu| gpu.is_strict)
    }

    /// State that all queues share.
    pub(crate) fn shared(&self) -> Shared {
        Shared {
            memory: Arc::clone(&self.memory),
            signals: Arc::clone(&self.signals),
            events: Arc::clone(&self.events),
        }
    }

    /// Adds a queue; returns its address. ROCr, too, creates more queues than `HSA_AGENT_INFO_QUEUES_MAX` says.
    pub(crate) fn add_queue(&self, queue: AnyQueue) -> *mut hsa_queue_t {
        let raw = queue.ring().raw();
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        queues.insert(raw.addr(), queue);
        raw
    }

    /// The queue at an address.
    pub(crate) fn queue(&self, queue: *const hsa_queue_t) -> Answer<AnyQueue> {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        queues
            .get(&queue.addr())
            .cloned()
            .ok_or(Status::INVALID_QUEUE)
    }

    /// The GPU's queue at an address.
    pub(crate) fn gpu_queue(&self, queue: *const hsa_queue_t) -> Answer<Arc<Queue>> {
        match self.queue(queue)? {
            AnyQueue::Gpu(queue) => Ok(queue),
            AnyQueue::Soft(_) => Err(Status::INVALID_QUEUE),
        }
    }

    /// Removes a queue.
    pub(crate) fn remove_queue(&self, queue: *const hsa_queue_t) -> Answer<AnyQueue> {
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        queues.remove(&queue.addr()).ok_or(Status::INVALID_QUEUE)
    }

    /// Whether a signal is the doorbell of a queue.
    pub(crate) fn is_doorbell(&self, signal: hsa_signal_t) -> bool {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        let mut queues = queues.values();
        queues.any(|queue| matches!(queue, AnyQueue::Gpu(queue) if queue.has_doorbell(signal)))
    }

    /// Calls `run` with a symbol.
    pub(crate) fn with_symbol<T>(
        &self,
        symbol: hsa_executable_symbol_t,
        run: impl FnOnce(&Symbol) -> Answer<T>,
    ) -> Answer<T> {
        let executables = lock(&self.executables);
        let mut executables = executables.values();
        let found = executables.find_map(|executable| executable.symbols.get(&symbol.handle));
        found.ok_or(Status::INVALID_EXECUTABLE_SYMBOL).and_then(run)
    }

    /// Calls `run` with an executable.
    pub(crate) fn with_executable<T>(
        &self,
        executable: hsa_executable_t,
        run: impl FnOnce(&mut Executable) -> Answer<T>,
    ) -> Answer<T> {
        let mut executables = lock(&self.executables);
        let found = executables.get_mut(&executable.handle);
        found.ok_or(Status::INVALID_EXECUTABLE).and_then(run)
    }

    /// The engine for copies within the host's memory, unless there is no thread for it.
    pub(crate) fn host_engine(&self) -> Option<&Engine> {
        let start = || Engine::start(&self.memory, &Arc::default()).ok();
        self.host_engine.get_or_init(start).as_ref()
    }

    /// Updates the maximum of allocated host memory.
    pub(crate) fn note_pinned(&self) {
        let used = self.memory.system_used();
        // Relaxed: read at the end.
        self.most_pinned.fetch_max(used, Ordering::Relaxed);
    }

    /// Adds a user of the runtime. `add` adds the GPUs if there are none.
    ///
    /// # Errors
    /// `add` fails, or the runtime belongs to another process.
    pub(crate) fn start(&self, add: impl FnOnce() -> Answer) -> Answer {
        let mut users = lock(&self.users);
        let process = std::process::id();
        // Acquire: edge *started*, of a call on another thread.
        let started = self.started_in.load(Ordering::Acquire);
        if started != 0 && started != process {
            return Err(Status::ERROR);
        }
        let next = users.checked_add(1).ok_or(Status::REFCOUNT_OVERFLOW)?;
        let gpus = self.gpus.read().unwrap_or_else(PoisonError::into_inner);
        let is_first = gpus.is_empty();
        drop(gpus);
        // Relaxed: numbers of GPUs that this process has added.
        if is_first && self.next_gpu.load(Ordering::Relaxed) == 0 {
            add()?;
        }
        if !self.handlers.start(&self.signals) {
            return Err(Status::OUT_OF_RESOURCES);
        }
        *users = next;
        // Release: edge *started*; GPUs and handlers are there.
        self.started_in.store(process, Ordering::Release);
        Ok(())
    }

    /// Removes a user of the runtime. The last one destroys all objects that programs have created.
    pub(crate) fn shut_down(&self) -> Answer {
        let mut users = lock(&self.users);
        *users = users.checked_sub(1).ok_or(Status::NOT_INITIALIZED)?;
        if *users > 0 {
            return Ok(());
        }
        // Release: edge *started*; a thread that finds 0 gets an error and uses nothing.
        self.started_in.store(0, Ordering::Release);
        let queues = self.queues.write();
        let queues = std::mem::take(&mut *queues.unwrap_or_else(PoisonError::into_inner));
        for queue in queues.into_values() {
            if let AnyQueue::Gpu(queue) = queue {
                queue.destroy();
            }
        }
        self.handlers.clear();
        self.events.clear();
        lock(&self.executables).clear();
        lock(&self.readers).clear();
        lock(&self.groups).clear();
        self.signals.destroy_all();
        self.memory.free_all(BlockKind::Pool);
        Ok(())
    }

    /// Number of unfreed resources.
    fn held(&self) -> u64 {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        // Each queue of a GPU has a signal of its own.
        let doorbells = queues
            .values()
            .filter(|queue| matches!(queue, AnyQueue::Gpu(_)));
        let counts = [
            self.signals.count() - doorbells.count(),
            self.memory.count(),
            queues.len(),
            lock(&self.readers).len(),
            lock(&self.executables).len(),
            lock(&self.groups).len(),
        ];
        counts.iter().sum::<usize>() as u64
    }
}

/// The runtime after `hsa_init`, in the process that has called it.
pub(crate) fn started() -> Answer<&'static Runtime> {
    let runtime = RUNTIME.get().and_then(|runtime| runtime.as_ref().ok());
    let runtime = runtime.ok_or(Status::NOT_INITIALIZED)?;
    // Acquire: edge *started*, of `hsa_init` on another thread.
    let is_started = runtime.started_in.load(Ordering::Acquire) == std::process::id();
    is_started.then_some(runtime).ok_or(Status::NOT_INITIALIZED)
}

/// The runtime before `hsa_init`.
pub(crate) fn unstarted() -> Answer<&'static Runtime> {
    runtime().map_err(|error| {
        tracing::error!(%error, "the emulated runtime cannot reserve its memory");
        Status::OUT_OF_RESOURCES
    })
}

/// Message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
}

/// Runs a function that may be called at any time, and returns its status. A panic becomes an error, since it must
/// not reach C.
pub(crate) fn answer_always(function: &str, run: impl FnOnce() -> Answer) -> hsa_status_t {
    calls::add(function);
    let answer = catch_unwind(AssertUnwindSafe(|| match faults::of_call(function) {
        Some(status) => Err(status),
        None => run(),
    }));
    let answer = answer.unwrap_or_else(|panic| {
        let reason = message(&*panic);
        tracing::error!(function, reason, "the emulated runtime panicked");
        Err(Status::ERROR)
    });
    if let Err(status) = answer
        && status != Status::INFO_BREAK
    {
        tracing::debug!(function, status = status.0, "failed");
    }
    answer.err().unwrap_or(Status::SUCCESS).0
}

/// Runs a function that requires the started runtime, and returns its status.
pub(crate) fn answer(function: &str, run: impl FnOnce(&'static Runtime) -> Answer) -> hsa_status_t {
    answer_always(function, || run(started()?))
}

/// The signal of a function that cannot return an error: an invalid one ends the process.
pub(crate) fn known_signal(function: &str, signal: hsa_signal_t) -> Arc<Signal> {
    calls::add(function);
    let found = started().and_then(|runtime| runtime.signals.get(signal));
    found.unwrap_or_else(|status| {
        end_process(function, &format!("signal {:#x}", signal.handle), status)
    })
}

/// The queue of a function that cannot return an error: an invalid one ends the process.
pub(crate) fn known_queue(function: &str, queue: *const hsa_queue_t) -> AnyQueue {
    calls::add(function);
    let found = started().and_then(|runtime| runtime.queue(queue));
    found.unwrap_or_else(|status| end_process(function, &format!("queue {queue:?}"), status))
}

/// Ends the process, in which a function that cannot return an error has an invalid argument.
#[expect(clippy::print_stderr, reason = "the last words of the process")]
pub(crate) fn end_process(function: &str, argument: &str, status: Status) -> ! {
    let why = match status {
        Status::NOT_INITIALIZED => "is used, but hsa_init was not called in this process",
        _ => "does not exist: it was never created, or is destroyed",
    };
    eprintln!("emulated GPU: {function}: {argument} {why}. The process ends.");
    std::process::abort();
}

/// The description of a status.
pub(crate) fn text_of(status: hsa_status_t) -> Option<&'static CStr> {
    let known = crate::status::TEXTS
        .iter()
        .find(|(known, _)| *known == status);
    known.and_then(|(_, text)| CStr::from_bytes_with_nul(text.as_bytes()).ok())
}

/// Waits for signals as the functions of programs do: until a condition is met, or for a time.
pub(crate) fn wait_for(
    signals: &[(Arc<Signal>, Condition)],
    nanoseconds: u64,
) -> Option<(usize, i64)> {
    let time = std::time::Duration::from_nanos(nanoseconds);
    let until = std::time::Instant::now().checked_add(time);
    crate::signal::wait_any(signals, until.filter(|_| nanoseconds != u64::MAX))
}

/// Adds a GPU to this process's runtime, and returns its number. A process that adds one has only those that it adds;
/// otherwise `hsa_init` adds those of the environment.
///
/// # Errors
/// The system cannot reserve the memory or has no threads, or there are too many GPUs.
pub fn add_gpu(options: GpuOptions) -> io::Result<u32> {
    let runtime = runtime().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    let mut gpus = runtime.gpus.write().unwrap_or_else(PoisonError::into_inner);
    // Relaxed: under the lock.
    let number = runtime.next_gpu.load(Ordering::Relaxed);
    gpus.insert(
        number,
        Arc::new(Gpu::new(number, &runtime.memory, options)?),
    );
    runtime.next_gpu.store(number + 1, Ordering::Relaxed);
    Ok(number)
}

/// Removes a GPU of [`add_gpu`]. Its queues and executables, if programs have left some, go with it.
pub fn remove_gpu(number: u32) {
    let Ok(runtime) = runtime() else { return };
    let removed = runtime
        .gpus
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&number);
    let Some(removed) = removed else { return };
    let queues = runtime.queues.write();
    let mut queues = queues.unwrap_or_else(PoisonError::into_inner);
    let left: Vec<_> = queues.extract_if(|_, queue| queue.is_of(number)).collect();
    drop(queues);
    for (_, queue) in left {
        if let AnyQueue::Gpu(queue) = queue {
            queue.destroy();
        }
    }
    let agent = removed.agent().handle;
    let mut executables = lock(&runtime.executables);
    for executable in executables.values_mut() {
        executable
            .loaded
            .retain(|loaded| loaded.gpu.number != number);
        executable
            .symbols
            .retain(|_, symbol| symbol.agent.handle != agent);
    }
}

/// The handle of a GPU's agent.
#[must_use]
pub fn agent_of(number: u32) -> u64 {
    crate::gpu::agent_of(number).handle
}

/// The fault of the first kernel of a GPU that had one; `None` if there was none.
#[must_use]
pub fn fault_of(number: u32) -> Option<Fault> {
    let runtime = runtime().ok()?;
    runtime.gpu(crate::gpu::agent_of(number)).ok()?.fault()
}

/// Calls `access`, once, with the host's address of a range of memory, more than nothing, in one allocation of a GPU. It
/// returns how many of the bytes, from the first on, it has read or written. Kernels may access them meanwhile.
/// `false`, without a call, if there is no such allocation.
pub fn in_place(
    number: u32,
    address: u64,
    len: usize,
    access: &mut dyn FnMut(*mut u8) -> usize,
) -> bool {
    let gpu = runtime().ok().and_then(|runtime| {
        let gpu = runtime.gpu(crate::gpu::agent_of(number)).ok()?;
        let block = runtime.memory.block_at(address)?;
        (block.owner == gpu.owner()).then_some(gpu)
    });
    let host = gpu.and_then(|gpu| gpu.memory.host(address, len as u64));
    let Some(host) = host else { return false };
    access(host.as_ptr());
    true
}

/// Reports an event of a kind for a GPU, as ROCr does; returns whether a handler has accepted it.
pub fn report_event(kind: u32, number: u32) -> bool {
    let fault = hsa_amd_gpu_memory_fault_info_t {
        agent: crate::gpu::agent_of(number),
        virtual_address: 0xdead_0000,
        fault_reason_mask: HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT.cast_unsigned(),
    };
    let runtime = runtime();
    runtime.is_ok_and(|runtime| runtime.events.report(kind, fault).is_ok())
}

/// `HSA_AMD_GPU_HW_EXCEPTION_EVENT` of newer headers than ours.
const HW_EXCEPTION: hsa_amd_event_type_t = 1;

/// Loses a GPU, as by an error of the hardware: its queues stop with their kernels, and an event reports it. Returns
/// whether a handler has accepted the event.
pub fn lose_gpu(number: u32) -> bool {
    if let Ok(runtime) = runtime() {
        let queues = runtime
            .queues
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        for queue in queues.values().filter(|queue| queue.is_of(number)) {
            if let AnyQueue::Gpu(queue) = queue {
                queue.inactivate();
            }
        }
    }
    report_event(HW_EXCEPTION, number)
}

/// Keeps copies from beginning until it is dropped.
#[derive(Debug)]
pub struct HeldCopies(());

impl Drop for HeldCopies {
    fn drop(&mut self) {
        copy::release_copies();
    }
}

/// Keeps copies from beginning, of all GPUs.
#[must_use]
pub fn hold_copies() -> HeldCopies {
    copy::hold_copies();
    HeldCopies(())
}

/// Counts of this process, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Unfreed resources of programs.
    pub held: u64,
    /// Injected failures.
    pub faults: u64,
    /// Unfinished copies.
    pub copies: u64,
    /// Peak of allocated host memory, in bytes.
    pub most_pinned: u64,
}

/// The counts so far.
#[must_use]
pub fn counts() -> Counts {
    let runtime = RUNTIME.get().and_then(|runtime| runtime.as_ref().ok());
    Counts {
        held: runtime.map_or(0, Runtime::held),
        faults: faults::injected(),
        copies: copy::copies(),
        // Relaxed: read at the end.
        most_pinned: runtime.map_or(0, |runtime| runtime.most_pinned.load(Ordering::Relaxed)),
    }
}
