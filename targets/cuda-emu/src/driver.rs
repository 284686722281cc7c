//! The state of the process: devices, contexts, and which context is a thread's current one.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, RwLock};

use cudarc::driver::sys::CU_MEMHOSTALLOC_PORTABLE;
use emu_driver::calls;
use emu_driver::process::lock;
use ptx_emu::Fault;

use crate::code::{Answer, Code};
use crate::faults;
use crate::settings::settings;
use crate::state::Context;
use crate::state::gpu::{Gpu, GpuOptions};
use crate::state::memory::{Pinned, PinnedKind, Registered};
use crate::state::stream::{QUERIES, WAITS};

/// The driver.
pub(crate) struct Driver {
    /// By their numbers; none where one was removed.
    gpus: RwLock<Vec<Option<Arc<Gpu>>>>,
    /// By their handles.
    contexts: Mutex<HashMap<u64, Arc<Context>>>,
    /// The process that has called `cuInit`; 0 before. A child that it forks has none of its threads.
    started_in: AtomicU32,
    /// Resources that contexts still held when they were destroyed.
    leaks: AtomicU64,
}

static DRIVER: LazyLock<Driver> = LazyLock::new(|| Driver {
    gpus: RwLock::default(),
    contexts: Mutex::default(),
    started_in: AtomicU32::new(0),
    leaks: AtomicU64::new(0),
});

thread_local! {
    /// Handles of the calling thread's contexts; the last one is current. It is never dropped: programs
    /// call the driver while they exit, too.
    static CURRENT: RefCell<ManuallyDrop<Vec<u64>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// The calling thread's contexts.
pub(crate) fn with_current<T>(run: impl FnOnce(&mut Vec<u64>) -> T) -> T {
    CURRENT.with_borrow_mut(|contexts| run(contexts))
}

/// The handle of the calling thread's context; 0 for none.
pub(crate) fn current() -> u64 {
    with_current(|contexts| contexts.last().copied().unwrap_or(0))
}

impl Driver {
    pub(crate) fn gpu(&self, device: i32) -> Answer<Arc<Gpu>> {
        let index = usize::try_from(device).map_err(|_| Code::INVALID_DEVICE)?;
        let gpus = self
            .gpus
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        gpus.get(index)
            .cloned()
            .flatten()
            .ok_or(Code::INVALID_DEVICE)
    }

    /// All GPUs but one.
    pub(crate) fn other_gpus(&self, one: &Arc<Gpu>) -> Vec<Arc<Gpu>> {
        let gpus = self
            .gpus
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let others = gpus.iter().flatten().filter(|gpu| !Arc::ptr_eq(gpu, one));
        others.cloned().collect()
    }

    /// All GPUs.
    pub(crate) fn gpus(&self) -> Vec<Arc<Gpu>> {
        let gpus = self
            .gpus
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        gpus.iter().flatten().cloned().collect()
    }

    pub(crate) fn gpu_count(&self) -> usize {
        self.gpus
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .len()
    }

    pub(crate) fn context(&self, handle: u64) -> Option<Arc<Context>> {
        lock(&self.contexts).get(&handle).cloned()
    }

    /// All contexts that there are.
    pub(crate) fn contexts(&self) -> Vec<Arc<Context>> {
        lock(&self.contexts).values().cloned().collect()
    }

    pub(crate) fn add(&self, context: &Arc<Context>) {
        lock(&self.contexts).insert(context.handle, Arc::clone(context));
    }

    /// Destroys a context, and counts what it still held.
    pub(crate) fn destroy(&self, context: &Context) {
        lock(&self.contexts).remove(&context.handle);
        // Relaxed: a count that is read at the end.
        self.leaks.fetch_add(context.destroy(), Ordering::Relaxed);
    }
}

/// Adds a GPU to this process's driver, and returns its number. A process that adds one has only those
/// that it adds; otherwise `cuInit` adds those of the environment.
///
/// # Errors
/// An option is out of bounds, or the system cannot reserve the memory.
pub fn add_gpu(options: GpuOptions) -> std::io::Result<i32> {
    let mut gpus = DRIVER
        .gpus
        .write()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let number = gpus.len() as i32;
    gpus.push(Some(Arc::new(Gpu::new(number, options)?)));
    Ok(number)
}

/// Removes a GPU of [`add_gpu`], whose contexts are released.
pub fn remove_gpu(number: i32) {
    let mut gpus = DRIVER
        .gpus
        .write()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let gpu = usize::try_from(number)
        .ok()
        .and_then(|number| gpus.get_mut(number));
    let removed = gpu.and_then(Option::take);
    drop(gpus);
    drop(removed);
}

/// Loses a GPU, as by an error of the hardware: its kernels stop, and each function that uses one of its contexts fails
/// from now on. Returns whether it has a context.
pub fn lose_gpu(number: i32) -> bool {
    let contexts = contexts();
    let lost = contexts
        .iter()
        .filter(|context| context.gpu.number == number);
    lost.map(|context| context.break_with(Code::LAUNCH_FAILED))
        .count()
        > 0
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
}

/// A function without preconditions: its result in C's form. A fault of the emulator's own is an error
/// of the function, since a panic must not reach C.
pub(crate) fn answer(function: &str, run: impl FnOnce() -> Answer) -> u32 {
    calls::add(function);
    let answer = catch_unwind(AssertUnwindSafe(|| match faults::of_call(function) {
        Some(code) => Err(code),
        None => run(),
    }));
    let answer = answer.unwrap_or_else(|panic| {
        tracing::error!(
            function,
            reason = message(&*panic),
            "the emulated driver panicked"
        );
        Err(Code::UNKNOWN)
    });
    if let Err(code) = answer
        && code != Code::NOT_READY
    {
        tracing::trace!(function, code = code.0, "failed");
    }
    answer.err().unwrap_or(Code::SUCCESS).0
}

/// A function that requires an initialised driver.
pub(crate) fn with_driver(function: &str, run: impl FnOnce(&'static Driver) -> Answer) -> u32 {
    answer(function, || run(started()?))
}

thread_local! {
    /// Whether this thread, a stream's, runs a function of the program. It may not use the driver: it would wait for
    /// itself.
    static IS_IN_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function of the program in a stream.
pub(crate) fn in_stream(function: impl FnOnce()) {
    IS_IN_FUNCTION.set(true);
    function();
    IS_IN_FUNCTION.set(false);
}

/// The driver after `cuInit`, in the process that has called it.
fn started() -> Answer<&'static Driver> {
    if IS_IN_FUNCTION.get() {
        return Err(Code::NOT_PERMITTED);
    }
    // Acquire pairs with the release of `cuInit`, on another thread.
    let is_started = DRIVER.started_in.load(Ordering::Acquire) == std::process::id();
    is_started.then_some(&*DRIVER).ok_or(Code::NOT_INITIALIZED)
}

/// The number of GPUs.
pub(crate) fn gpu_count() -> usize {
    DRIVER.gpu_count()
}

/// The calling thread's context, broken or not.
pub(crate) fn current_context() -> Answer<Arc<Context>> {
    let driver = started()?;
    match current() {
        0 => Err(Code::INVALID_CONTEXT),
        current => driver.context(current).ok_or(Code::CONTEXT_IS_DESTROYED),
    }
}

/// A function that requires a current, usable context.
pub(crate) fn with_context(function: &str, run: impl FnOnce(&Arc<Context>) -> Answer) -> u32 {
    match current_context() {
        Ok(context) => in_context(function, context, run),
        Err(code) => code.0,
    }
}

/// A function that destroys something: it acts on the current context if that has it, or else on the one that has it.
/// With a strict GPU, programs may rely on the former alone.
pub(crate) fn with_owner(
    function: &str,
    is_owner: impl Fn(&Context) -> bool,
    run: impl FnOnce(&Arc<Context>) -> Answer,
) -> u32 {
    let current = current_context();
    if let Ok(context) = &current
        && (context.gpu.is_strict || is_owner(context))
    {
        return in_context(function, Arc::clone(context), run);
    }
    let owner = contexts().into_iter().find(|context| is_owner(context));
    match owner.map_or(current, Ok) {
        Ok(context) => in_context(function, context, run),
        Err(code) => code.0,
    }
}

fn in_context(
    function: &str,
    context: Arc<Context>,
    run: impl FnOnce(&Arc<Context>) -> Answer,
) -> u32 {
    if let Some(code) = context.progress.broken() {
        return code.0;
    }
    let code = answer(function, || run(&context));
    if Code(code).is_sticky() {
        context.break_with(Code(code));
    }
    code
}

/// All contexts, for functions that accept another context than the current one.
pub(crate) fn contexts() -> Vec<Arc<Context>> {
    DRIVER.contexts()
}

/// Waits for all work in a context, and in the others whose GPUs reach memory that it is about to free. Their errors
/// are results of their own functions.
pub(crate) fn wait_for_users(context: &Context, reach: impl Fn(&Gpu) -> bool) -> Answer {
    for other in contexts() {
        if other.handle != context.handle && reach(&other.gpu) {
            let _ = other.wait();
        }
    }
    context.wait()
}

/// The GPUs other than a context's that reach its pinned memory: all, if it is portable. With unified addressing
/// all of it is; programs that may rely on nothing else have to say so.
pub(crate) fn peer_gpus(context: &Context, is_portable: bool) -> Vec<Arc<Gpu>> {
    let gpu = &context.gpu;
    if is_portable || (settings().unified && !gpu.is_strict) {
        DRIVER.other_gpus(gpu)
    } else {
        Vec::new()
    }
}

/// The context with a handle; 0 is the current one.
pub(crate) fn context_of(handle: u64) -> Answer<Arc<Context>> {
    match handle {
        0 => current_context(),
        handle => started()?.context(handle).ok_or(Code::INVALID_CONTEXT),
    }
}

/// The fault of a kernel that broke a context; `None` if there was none.
#[must_use]
pub fn fault_of(context: u64) -> Option<Fault> {
    DRIVER.context(context)?.fault()
}

/// Calls `access`, once, with the host's address of a range of a GPU's memory, more than nothing. It returns
/// how many of the bytes, from the first on, it has read or, if it `writes`, written. Kernels may access
/// them meanwhile. `false`, without a call, if the range is not in one piece of device memory.
pub fn in_place(
    gpu: i32,
    address: u64,
    len: usize,
    writes: bool,
    access: &mut dyn FnMut(*mut u8) -> usize,
) -> bool {
    let Ok(gpu) = DRIVER.gpu(gpu) else {
        return false;
    };
    let machine = &gpu.machine;
    let Some(host) = machine.memory().host(address, len as u64) else {
        return false;
    };
    let done = access(host.as_ptr()) as u64;
    if writes {
        machine.host_wrote(address, done);
    } else {
        machine.host_read(address, done);
    }
    true
}

/// Counts of this process, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Contexts.
    pub contexts: u64,
    /// Resources that contexts still held when they were destroyed. Those of broken contexts do not
    /// count, since they could not be freed.
    pub leaks: u64,
    /// Injected failures.
    pub faults: u64,
    /// Calls of `cuStreamQuery`.
    pub stream_queries: u64,
    /// Calls of `cuStreamSynchronize`.
    pub stream_waits: u64,
}

/// The counts so far.
#[must_use]
pub fn counts() -> Counts {
    Counts {
        contexts: DRIVER.contexts().len() as u64,
        // Relaxed, all of them: read at the end.
        leaks: DRIVER.leaks.load(Ordering::Relaxed),
        faults: faults::injected(),
        stream_queries: QUERIES.load(Ordering::Relaxed),
        stream_waits: WAITS.load(Ordering::Relaxed),
    }
}

/// Starts the driver for this process, whose GPUs `add` adds if there are none.
///
/// # Errors
/// Those of `add`, and that the driver is another process's.
pub(crate) fn start(add: impl FnOnce() -> Answer) -> Answer {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _held = lock(&ONE_AT_A_TIME);
    let process = std::process::id();
    // Acquire pairs with the release below, on another thread.
    match DRIVER.started_in.load(Ordering::Acquire) {
        0 if DRIVER.gpu_count() == 0 => add()?,
        0 => {}
        started if started != process => return Err(Code::NOT_INITIALIZED),
        _ => return Ok(()),
    }
    // Release pairs with the acquire of `started`.
    DRIVER.started_in.store(process, Ordering::Release);
    Ok(())
}

/// The pinned memory that contains the range: of this context, or of all on its device.
pub(crate) fn pinned(context: &Context, address: u64, len: u64) -> Option<Arc<Pinned>> {
    contexts().into_iter().find_map(|other| {
        let owned = lock(&other.owned);
        let (&start, pinned) = owned.pinned.range(..=address).next_back()?;
        let is_ours = other.handle == context.handle
            || Arc::ptr_eq(&other.gpu, &context.gpu)
                && !matches!(pinned.kind, PinnedKind::Host(flags) if flags & CU_MEMHOSTALLOC_PORTABLE == 0);
        let end = (address - start).checked_add(len)?;
        (is_ours && end <= pinned.bytes).then(|| Arc::clone(pinned))
    })
}

/// The pinned memory that contains the range, of any context, if it is mapped on a GPU.
pub(crate) fn peer_pinned(gpu: &Gpu, address: u64, len: u64) -> Option<Arc<Pinned>> {
    contexts().into_iter().find_map(|other| {
        let owned = lock(&other.owned);
        let (&start, pinned) = owned.pinned.range(..=address).next_back()?;
        let end = (address - start).checked_add(len)?;
        (end <= pinned.bytes && pinned.is_reached_by(gpu)).then(|| Arc::clone(pinned))
    })
}

/// The registered memory that contains the range, of any context, if it is mapped on a GPU.
pub(crate) fn registered(gpu: &Gpu, address: u64, len: u64) -> Option<Arc<Registered>> {
    contexts().into_iter().find_map(|other| {
        let owned = lock(&other.owned);
        let (&start, registered) = owned.registered.range(..=address).next_back()?;
        let end = (address - start).checked_add(len)?;
        (end <= registered.bytes && registered.is_reached_by(gpu)).then(|| Arc::clone(registered))
    })
}
