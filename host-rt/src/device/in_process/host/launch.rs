//! Operations of the `host` device's queues: copies and launches.

use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use corosensei::stack::DefaultStack;
use shared_abi::host_arch::ThreadContext;
use targets::count::Count;

use super::active_launches::{self, ActiveLaunch};
use super::module::{HostModule, RESIDENT};
use super::signals::Arguments;
use super::{HostDevice, lock, thread};
use crate::device::in_process::{InProcess, QueueOp, Work};
use crate::device::{
    BlockShape, DeviceAddr, DeviceError, Global, Grid, LaunchContext, Module, Outcome, Params,
};

/// The code of a kernel: see [`shared_abi::host_arch`].
type KernelCode = unsafe extern "C" fn(*const *const c_void);

// SAFETY: the arena lives as long as the device, a module as long as its kernels and ranges;
// besides copies, only kernels access either. The arena and the segments of a module are mappings of
// whole pages.
unsafe impl InProcess for HostDevice {
    /// Keeps an image loaded.
    type Held = Option<Arc<HostModule>>;

    fn resolve(
        &self,
        address: DeviceAddr,
        len: usize,
        write: bool,
    ) -> Result<(*mut u8, Self::Held), DeviceError> {
        let held = self.find(address, len as u64, write)?;
        Ok((address.0 as *mut u8, held))
    }

    unsafe fn prepare(
        self: &Arc<Self>,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &Params,
        context: LaunchContext,
    ) -> Result<Box<dyn Work>, DeviceError> {
        if context.block != BlockShape::default() {
            let reason = "its device threads are no lanes, and have no shared memory";
            return Err(grid.bad(reason));
        }
        let Some(loaded) = module.downcast_ref::<HostModule>() else {
            unreachable!("a module of another device")
        };
        if !loaded.is_code(kernel.address) {
            let address = kernel.address;
            return Err(grid.bad(format!("{address} is no code of the kernel's image")));
        }
        // SAFETY: the address lies in code of the module, as was just checked, which `Held` keeps
        // loaded; the caller vouches that a kernel begins there.
        let code = unsafe { std::mem::transmute::<usize, KernelCode>(kernel.address.0 as usize) };
        let held = Held {
            module: Arc::clone(module),
            device: Arc::clone(self),
        };
        Ok(Box::new(HostLaunch::new(
            code,
            params.clone(),
            grid,
            context,
            Some(held),
        )))
    }
}

/// A running kernel.
pub(super) struct HostLaunch {
    code: KernelCode,
    params: Params,
    grid: Grid,
    /// Teams that run at a time.
    places: u32,
    context: LaunchContext,
    /// A thread trapped: teams that have not started are skipped.
    faulted: AtomicBool,
    /// Jobs that have not ended.
    remaining: AtomicU32,
    /// Set when it begins.
    op: OnceLock<Arc<QueueOp>>,
    state: Mutex<State>,
}

/// A device thread of each of some teams, to be run on a worker.
pub(super) struct Job {
    pub(super) launch: Arc<HostLaunch>,
    /// The first of the teams.
    pub(super) place: u32,
    /// The thread's number in each team.
    pub(super) thread: u32,
}

struct State {
    fault: Option<String>,
    /// The stacks of threads that trapped. Others may use what is on them.
    abandoned: Vec<DefaultStack>,
    /// For a kernel that can call the host and has begun.
    active: Option<ActiveLaunch>,
    /// Dropped when the kernel has ended, before other threads learn of the end.
    held: Option<Held>,
}

/// Resources of a kernel.
struct Held {
    module: Arc<dyn Module>,
    device: Arc<HostDevice>,
}

/// The kernel and its arguments, for a message that a signal handler writes: without locks or
/// allocations.
impl fmt::Display for HostLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.try_lock();
        let held = state.as_ref().ok().and_then(|state| state.held.as_ref());
        let module = held.and_then(|held| held.module.downcast_ref::<HostModule>());
        let described = match module {
            Some(module) => module.describe_kernel(DeviceAddr(self.code as usize as u64), f)?,
            None => {
                f.write_str("a kernel")?;
                true
            }
        };
        let params = self.params.iter();
        match params.len() {
            0 => f.write_str(", launched without arguments")?,
            _ => write!(f, ", launched with {}", Arguments(params))?,
        }
        if !described {
            f.write_str(" (its image does not describe its parameters, REVOFF_KERNEL would)")?;
        }
        Ok(())
    }
}

impl Work for HostLaunch {
    fn begin(self: Box<Self>, op: &Arc<QueueOp>) -> Option<Outcome> {
        let launch = Arc::<Self>::from(self);
        let _ = launch.op.set(Arc::clone(op));
        let device = {
            let state = lock(&launch.state);
            let held = state.held.as_ref();
            held.map(|held| Arc::clone(&held.device))
        };
        let device = device.unwrap_or_else(|| unreachable!("it has not ended"));
        device.workers.run(launch);
        None
    }

    fn give_up(self: Box<Self>) {
        (self.context.ended)();
    }
}

impl HostLaunch {
    fn new(
        code: KernelCode,
        params: Params,
        grid: Grid,
        context: LaunchContext,
        held: Option<Held>,
    ) -> Self {
        let places = (RESIDENT / grid.threads).clamp(1, grid.teams);
        Self {
            code,
            params,
            grid,
            places,
            context,
            faulted: AtomicBool::new(false),
            remaining: AtomicU32::new(places * grid.threads),
            op: OnceLock::new(),
            state: Mutex::new(State {
                fault: None,
                abandoned: Vec::new(),
                active: None,
                held,
            }),
        }
    }

    /// A launch without a device, which calls `ended` when it has ended.
    #[cfg(test)]
    pub(super) fn of_code(
        code: KernelCode,
        params: Params,
        grid: Grid,
        ended: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Self> {
        let context = LaunchContext {
            block: BlockShape::default(),
            key: 1,
            calls_host: false,
            wake_host: Arc::new(|| ()),
            ended: Arc::new(ended),
        };
        Arc::new(Self::new(code, params, grid, context, None))
    }

    /// The number of its device threads that exist at a time.
    pub(super) fn width(&self) -> usize {
        (self.places * self.grid.threads) as usize
    }

    /// Its jobs, which must run at the same time.
    pub(super) fn jobs(self: &Arc<Self>) -> impl ExactSizeIterator<Item = Job> + use<> {
        let launch = Arc::clone(self);
        let threads = self.grid.threads;
        (0..self.width()).map(move |job| Job {
            launch: Arc::clone(&launch),
            place: job as u32 / threads,
            thread: job as u32 % threads,
        })
    }

    /// Called before its device threads run.
    pub(super) fn enter(&self) {
        let context = &self.context;
        if context.calls_host {
            let active = active_launches::begin(context.key, &context.wake_host);
            lock(&self.state).active = Some(active);
        }
    }

    /// Called when the system has no threads for the last jobs.
    pub(super) fn is_short_of(&self, missing: usize, error: &std::io::Error) {
        let teams = self.grid.teams;
        self.fail(format!(
            "starting the device threads of {}: {error}",
            Count(teams.into(), "team")
        ));
        // The existing ones finish the work that they have begun.
        self.leave(missing as u32);
    }

    /// Runs the device thread `thread` of the team `place` and of every `places`-th team after it. Returns
    /// the stack, unless the thread has trapped.
    pub(super) fn run_teams(
        &self,
        mut stack: DefaultStack,
        place: u32,
        thread: u32,
    ) -> Option<DefaultStack> {
        let params: Vec<*const c_void> = self
            .params
            .iter()
            .map(|param| param.as_ptr().cast())
            .collect();
        for team in (place..self.grid.teams).step_by(self.places as usize) {
            // Relaxed: advisory, to stop early; the fault itself is in `state`.
            if self.faulted.load(Ordering::Relaxed) {
                break;
            }
            let context = ThreadContext {
                team,
                teams: self.grid.teams,
                thread,
                threads: self.grid.threads,
                launch: self.context.key,
                reserved: 0,
                stack_low: 0,
                stack_high: 0,
            };
            let (code, params) = (self.code, params.as_ptr());
            // SAFETY: `code` is a kernel and `params` its parameters, by the
            // promise of `Queue::launch`'s caller.
            let kernel = move || unsafe { code(params) };
            let wake_host = &self.context.wake_host;
            // SAFETY: the caller of `Queue::launch` promises that a kernel's frames can be
            // abandoned; `self` outlives the call.
            let (back, result) = unsafe { thread::run(kernel, self, context, wake_host, stack) };
            if let Err(message) = result {
                self.fail(format!("thread {thread} of team {team}: {message}"));
                lock(&self.state).abandoned.push(back);
                return None;
            }
            stack = back;
        }
        Some(stack)
    }

    pub(super) fn fail(&self, message: String) {
        lock(&self.state).fault.get_or_insert(message);
        // Relaxed: advisory, like the load in `run_teams`.
        self.faulted.store(true, Ordering::Relaxed);
    }

    /// Called when `n` jobs have ended or will never begin.
    pub(super) fn leave(&self, n: u32) {
        // AcqRel: the last one sees the effects of all others.
        if self.remaining.fetch_sub(n, Ordering::AcqRel) != n {
            return;
        }
        let mut state = lock(&self.state);
        let (fault, active) = (state.fault.take(), state.active.take());
        let held = state.held.take();
        state.abandoned.clear();
        drop(state);
        drop(active);
        (self.context.ended)();
        drop(held);
        if let Some(op) = self.op.get() {
            op.finish(fault.map_or(Ok(()), |fault| Err(fault.into())));
        }
    }
}
