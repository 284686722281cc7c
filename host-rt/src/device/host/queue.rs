//! What queues of the `host` device do: copies and launches.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use corosensei::stack::DefaultStack;
use shared_abi::host_arch::ThreadContext;

use super::module::HostModule;
use super::under_way::{self, UnderWay};
use super::{HostDevice, lock, thread};
use crate::device::at_once::{After, Near, bad_grid};
use crate::device::{BlockShape, Event, Global, Grid, LaunchContext, Module, Running};
use crate::error::DeviceError;

/// Device threads of one launch that exist at a time, as far as whole teams
/// allow; teams beyond wait for a free place, as blocks do on a GPU.
pub(super) const RESIDENT: u32 = 2048;

/// The code of a kernel: see [`shared_abi::host_arch`].
type KernelCode = unsafe extern "C" fn(*const *const c_void);

/// Stack of the OS thread under a device thread, which only starts it.
const CARRIER_STACK: usize = 64 << 10;

// SAFETY: the arena lives as long as the device, a module as long as what comes with it, and
// kernels alone use either.
unsafe impl Near for HostDevice {
    /// What is in an image stays loaded as long.
    type Held = Option<Arc<HostModule>>;
    type Launch = HostLaunch;

    fn reach(
        &self,
        address: u64,
        len: usize,
        write: bool,
    ) -> Result<(*mut u8, Self::Held), DeviceError> {
        let held = self.find(address, len as u64, write)?;
        Ok((address as *mut u8, held))
    }

    unsafe fn launch(
        self: &Arc<Self>,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &[Vec<u8>],
        context: LaunchContext,
        after: &mut After,
    ) -> Result<Arc<HostLaunch>, DeviceError> {
        if context.block != BlockShape::default() {
            let reason = "its device threads are no lanes, and have no shared memory";
            return Err(bad_grid(grid, reason));
        }
        debug_assert!(
            module.as_any().is::<HostModule>(),
            "a module of another device"
        );
        let under_way = context
            .calls_host
            .then(|| under_way::begin(context.key, &context.ring));
        let state = State {
            under_way,
            ..State::default()
        };
        let launch = Arc::new(HostLaunch {
            // SAFETY: the symbol is code of the module, which `_module` keeps
            // loaded; the caller vouches that it is a kernel.
            code: unsafe { std::mem::transmute::<usize, KernelCode>(kernel.address as usize) },
            _module: Arc::clone(module),
            params: params.to_vec(),
            grid,
            context,
            stack: self.stack,
            after: Mutex::new(after.take()),
            faulted: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            remaining: AtomicU32::new(0),
            state: Mutex::new(state),
            ended: Condvar::new(),
        });
        launch.start().map_err(|reason| DeviceError::System {
            what: format!("starting the device threads of {} teams", grid.teams),
            reason,
        })?;
        Ok(launch)
    }
}

/// A kernel under way.
pub(super) struct HostLaunch {
    code: KernelCode,
    _module: Arc<dyn Module>,
    params: Vec<Vec<u8>>,
    grid: Grid,
    context: LaunchContext,
    stack: usize,
    /// What the kernel has to wait for before it starts.
    after: Mutex<Vec<Arc<dyn Event>>>,
    /// A thread trapped: teams that have not started stay away.
    faulted: AtomicBool,
    /// Not all carriers could be created; the launch counts as never started.
    abandoned: AtomicBool,
    /// Carriers that have not ended.
    remaining: AtomicU32,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    ended: bool,
    fault: Option<String>,
    /// For a kernel that can call the host.
    under_way: Option<UnderWay>,
    carriers: Vec<JoinHandle<()>>,
}

impl HostLaunch {
    /// Starts the carriers: OS threads, one per resident device thread.
    fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let places = (RESIDENT / self.grid.threads).clamp(1, self.grid.teams);
        self.remaining
            .store(places * self.grid.threads, Ordering::Relaxed);
        let mut carriers = Vec::with_capacity((places * self.grid.threads) as usize);
        let mut failed = None;
        'start: for place in 0..places {
            for thread in 0..self.grid.threads {
                let launch = Arc::clone(self);
                let carrier = std::thread::Builder::new()
                    .name(format!("device {place}.{thread}"))
                    .stack_size(CARRIER_STACK)
                    .spawn(move || launch.carry(place, places, thread));
                match carrier {
                    Ok(carrier) => carriers.push(carrier),
                    Err(error) => {
                        failed = Some(error);
                        break 'start;
                    }
                }
            }
        }
        let missing = places * self.grid.threads - carriers.len() as u32;
        let mut state = lock(&self.state);
        state.carriers = carriers;
        if let Some(error) = failed {
            // Those that exist end what they have begun. `leave` below comes after
            // this store and before the last carrier's.
            self.abandoned.store(true, Ordering::Relaxed);
            self.faulted.store(true, Ordering::Relaxed);
            drop(state);
            self.leave(missing);
            let _ = Running::wait(&**self, None);
            return Err(error);
        }
        Ok(())
    }

    /// One carrier: the device thread `thread` of every `places`-th team.
    fn carry(&self, place: u32, places: u32, thread: u32) {
        crate::sleep::sharpen();
        let after = lock(&self.after).clone();
        for event in after {
            event.wait();
        }
        let params: Vec<*const c_void> = self
            .params
            .iter()
            .map(|param| param.as_ptr().cast())
            .collect();
        match DefaultStack::new(self.stack) {
            Ok(stack) => self.run_teams(stack, &params, place, places, thread),
            Err(error) => self.fail(format!("no memory for a device thread's stack: {error}")),
        }
        self.leave(1);
    }

    fn run_teams(
        &self,
        mut stack: DefaultStack,
        params: &[*const c_void],
        place: u32,
        places: u32,
        thread: u32,
    ) {
        for team in (place..self.grid.teams).step_by(places as usize) {
            // Relaxed: a hint to stop early; the fault itself is in `state`.
            if self.faulted.load(Ordering::Relaxed) {
                return;
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
            let ring = &self.context.ring;
            // SAFETY: the same promise, of a kernel's frames.
            let (back, result) = unsafe { thread::run(kernel, context, ring, stack) };
            stack = back;
            if let Err(message) = result {
                self.fail(format!("thread {thread} of team {team}: {message}"));
            }
        }
    }

    fn fail(&self, message: String) {
        lock(&self.state).fault.get_or_insert(message);
        // Relaxed: see `run_teams`.
        self.faulted.store(true, Ordering::Relaxed);
    }

    /// `n` carriers have ended, or never began.
    fn leave(&self, n: u32) {
        // AcqRel: the last one out has seen everything that the others did.
        if self.remaining.fetch_sub(n, Ordering::AcqRel) == n {
            drop(lock(&self.state).under_way.take());
            if !self.abandoned.load(Ordering::Relaxed) {
                (self.context.ended)();
            }
            lock(&self.state).ended = true;
            self.ended.notify_all();
        }
    }
}

impl Event for HostLaunch {
    fn is_done(&self) -> bool {
        lock(&self.state).ended
    }

    fn wait(&self) {
        let _ = Running::wait(self, None);
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl Running for HostLaunch {
    fn is_done(&self) -> bool {
        lock(&self.state).ended
    }

    fn wait(&self, until: Option<Instant>) -> Option<Result<(), String>> {
        let mut state = lock(&self.state);
        while !state.ended {
            let Some(until) = until else {
                state = self
                    .ended
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let carriers = std::mem::take(&mut state.carriers);
        let result = state.fault.clone().map_or(Ok(()), Err);
        drop(state);
        for carrier in carriers {
            // A carrier does not panic: kernels trap, and the rest of it does not
            // unwrap. Should it, the launch has ended all the same.
            let _ = carrier.join();
        }
        Some(result)
    }
}
