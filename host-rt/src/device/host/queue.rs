//! Queues and launches of the `host` device.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use corosensei::stack::DefaultStack;
use shared_abi::host_arch::ThreadContext;

use super::module::HostModule;
use super::thread::{self, KernelCode};
use super::{HostDevice, lock};
use crate::device::at_once::{self, After};
use crate::device::{BlockShape, Event, Global, Grid, LaunchContext, Module, Queue, Running};
use crate::error::DeviceError;

/// Device threads of one launch that exist at a time, as far as whole teams
/// allow; teams beyond wait for a free place, as blocks do on a GPU.
pub(super) const RESIDENT: u32 = 2048;

/// Most threads of a team.
pub(super) const MAX_THREADS: u32 = 1024;

/// Stack of the OS thread under a device thread, which only starts it.
const CARRIER_STACK: usize = 64 << 10;

/// A queue. Copies happen at once, after waiting for the launches before them.
pub(super) struct HostQueue {
    device: Arc<HostDevice>,
    after: After,
}

impl HostQueue {
    pub(super) fn new(device: Arc<HostDevice>) -> Self {
        let after = After::default();
        Self { device, after }
    }
}

impl Queue for HostQueue {
    unsafe fn copy_to_device(
        &mut self,
        to: u64,
        from: *const u8,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.after.catch_up();
        let _held = self.device.reach(to, len as u64, true)?;
        // SAFETY: the caller vouches for the host side. The device side was just
        // checked and stays: an arena lives as long as its device, a module as
        // long as `_held`. Device threads may use it meanwhile, which atomic
        // accesses here make a matter of theirs.
        unsafe { at_once::write(to as *mut u8, from, len) };
        Ok(())
    }

    unsafe fn copy_from_device(
        &mut self,
        to: *mut u8,
        from: u64,
        len: usize,
    ) -> Result<(), DeviceError> {
        self.after.catch_up();
        let _held = self.device.reach(from, len as u64, false)?;
        // SAFETY: as above.
        unsafe { at_once::read(to, from as *mut u8, len) };
        Ok(())
    }

    fn store_word(&mut self, to: u64, word: u32) -> Result<(), DeviceError> {
        self.after.catch_up();
        let _held = self.device.reach(to, 4, true)?;
        // SAFETY: as above.
        unsafe { at_once::store_word(to as *mut u8, to, word) }
    }

    unsafe fn launch(
        &mut self,
        module: &Arc<dyn Module>,
        kernel: Global,
        grid: Grid,
        params: &[Vec<u8>],
        context: LaunchContext,
    ) -> Result<Arc<dyn Running>, DeviceError> {
        let bad_grid = |reason: String| DeviceError::BadGrid {
            teams: grid.teams,
            threads: grid.threads,
            reason,
        };
        if grid.teams == 0 || grid.threads == 0 {
            return Err(bad_grid("both must be at least 1".to_owned()));
        }
        if context.block != BlockShape::default() {
            return Err(bad_grid(
                "its device threads are no lanes, and have no shared memory".to_owned(),
            ));
        }
        if grid.threads > MAX_THREADS {
            return Err(bad_grid(format!(
                "a team has at most {MAX_THREADS} threads"
            )));
        }
        debug_assert!(
            module.as_any().is::<HostModule>(),
            "a module of another device"
        );
        let launch = Arc::new(HostLaunch {
            // SAFETY: the symbol is code of the module, which `_module` keeps
            // loaded; the caller vouches that it is a kernel.
            code: unsafe { std::mem::transmute::<usize, KernelCode>(kernel.address as usize) },
            _module: Arc::clone(module),
            params: params.to_vec(),
            grid,
            context,
            stack: self.device.stack,
            after: Mutex::new(self.after.take()),
            faulted: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            remaining: AtomicU32::new(0),
            state: Mutex::new(State::default()),
            ended: Condvar::new(),
        });
        launch.start().map_err(|reason| DeviceError::System {
            what: format!("starting the device threads of {} teams", grid.teams),
            reason,
        })?;
        self.after.push(Arc::clone(&launch) as Arc<dyn Event>);
        Ok(launch)
    }

    fn record(&mut self) -> Arc<dyn Event> {
        self.after.record()
    }

    fn wait_for(&mut self, event: &Arc<dyn Event>) {
        self.after.push(Arc::clone(event));
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.after.catch_up();
        Ok(())
    }
}

/// A kernel under way.
struct HostLaunch {
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
            // SAFETY: `code` is a kernel and `params` its parameters, by the
            // promise of `Queue::launch`'s caller.
            let (back, result) = unsafe {
                thread::run(
                    self.code,
                    params.as_ptr(),
                    context,
                    &self.context.ring,
                    stack,
                )
            };
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
