//! A running kernel.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bus_cost::CountCosts;
use device_arena::Neighbour;

use super::costs::CostRecorder;
use crate::alu::{LANES, Mask, lanes_of};
use crate::check::{Checker, Clock};
use crate::code::op::Pc;
use crate::error::{Fault, FaultKind, SourceLocation};
use crate::memory::Memory;
use crate::module::{Kernel, Module};
use crate::spec::Model;

/// How long other blocks may run after a fault, in patiences. They may wait for the thread that faulted.
const PATIENCES_AFTER_FAULT: u32 = 3;

/// A thread whose instructions are printed.
#[derive(Clone)]
pub struct Trace {
    /// The block's place in the grid.
    pub block: [u32; 3],
    /// The thread's place in the block.
    pub thread: [u32; 3],
    /// Receives each line.
    pub sink: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trace(block {:?}, thread {:?})", self.block, self.thread)
    }
}

/// The counts of a launch.
pub(super) struct LaunchCosts {
    count: CountCosts,
    /// The number of the function whose calls are counted apart; `None` if the module has none.
    pub(super) function: Option<u32>,
    /// The counts of ended blocks.
    sum: Mutex<CostRecorder>,
}

/// The time of the last event on the device for which threads may wait.
#[derive(Debug)]
pub(crate) struct Activity {
    start: Instant,
    /// In milliseconds since `start`.
    last: AtomicU64,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    pub(crate) fn note(&self) {
        let now = self.start.elapsed().as_millis() as u64;
        // Relaxed: advisory, it orders nothing.
        self.last.store(now, Ordering::Relaxed);
    }

    pub(crate) fn is_recent(&self, within: Duration) -> bool {
        // Relaxed: as above.
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last) < within
    }
}

/// Called once with the result of a launch.
pub type OnEnd = Box<dyn FnOnce(Result<(), Fault>) + Send>;

/// The checker, and its clock at the begin of the launch.
pub(crate) struct Check {
    pub(crate) checker: Arc<Checker>,
    pub(crate) origin: Arc<Clock>,
}

pub(crate) struct Launch {
    pub(super) number: u64,
    pub(super) module: Arc<Module>,
    pub(super) kernel: Kernel,
    pub(super) memory: Arc<Memory>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) params: Vec<u64>,
    pub(super) dynamic_shared: u32,
    pub(super) model: Model,
    pub(super) processors: u32,
    pub(super) patience: Duration,
    pub(super) activity: Arc<Activity>,
    pub(super) check: Option<Check>,
    pub(super) output: Arc<dyn Fn(&str) + Send + Sync>,
    pub(super) trace: Option<Trace>,
    pub(super) costs: Option<LaunchCosts>,
    pub(super) start: Instant,
    /// The address of memory that the blocks of a cooperative launch share; 0 for others.
    pub(super) workspace: u64,
    submitted: Instant,
    state: Mutex<State>,
    ended: Condvar,
    stop: AtomicBool,
    /// When the first thread faulted.
    faulted: OnceLock<Instant>,
    instructions: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Blocks that have begun, and blocks that have ended.
    begun: u64,
    done: u64,
    fault: Option<Fault>,
    /// A block was stopped before its end.
    is_cut: bool,
    is_over: bool,
    call: Option<OnEnd>,
}

/// The parts of a launch.
pub(crate) struct LaunchConfig {
    pub(crate) number: u64,
    pub(crate) module: Arc<Module>,
    pub(crate) kernel: Kernel,
    pub(crate) memory: Arc<Memory>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// In whole words, so that they are aligned.
    pub(crate) params: Vec<u64>,
    pub(crate) dynamic_shared: u32,
    pub(crate) model: Model,
    pub(crate) processors: u32,
    pub(crate) patience: Duration,
    pub(crate) activity: Arc<Activity>,
    pub(crate) check: Option<Check>,
    pub(crate) output: Arc<dyn Fn(&str) + Send + Sync>,
    pub(crate) trace: Option<Trace>,
    pub(crate) costs: Option<CountCosts>,
    pub(crate) start: Instant,
    pub(crate) workspace: u64,
    pub(crate) ended: OnEnd,
}

/// Three-dimensional indices by number, x first.
pub(super) fn place(number: u64, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let [x, y] = [x, y].map(u64::from);
    [number % x, number / x % y, number / x / y].map(|n| n as u32)
}

impl Launch {
    pub(crate) fn new(make: LaunchConfig) -> Self {
        let costs = make.costs.map(|count| LaunchCosts {
            function: make.module.function_named(&count.entry),
            count,
            sum: Mutex::default(),
        });
        Self {
            number: make.number,
            module: make.module,
            kernel: make.kernel,
            memory: make.memory,
            grid: make.grid,
            block: make.block,
            params: make.params,
            dynamic_shared: make.dynamic_shared,
            model: make.model,
            processors: make.processors,
            patience: make.patience,
            activity: make.activity,
            check: make.check,
            output: make.output,
            trace: make.trace,
            costs,
            start: make.start,
            workspace: make.workspace,
            submitted: Instant::now(),
            state: Mutex::new(State {
                call: Some(make.ended),
                ..State::default()
            }),
            ended: Condvar::new(),
            stop: AtomicBool::new(false),
            faulted: OnceLock::new(),
            instructions: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Blocks for each multiprocessor.
    pub(super) fn share(&self) -> u64 {
        self.blocks().div_ceil(self.processors.into())
    }

    /// The time since it was submitted.
    pub(super) fn age(&self) -> Duration {
        self.submitted.elapsed()
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(super) fn shared_bytes(&self) -> u32 {
        self.module.shared + self.dynamic_shared
    }

    pub(super) fn module_id(&self) -> u64 {
        Arc::as_ptr(&self.module) as u64
    }

    /// The next block to run.
    pub(super) fn take_block(&self) -> Option<u64> {
        let mut state = self.state();
        if !self.begins_more(&state) {
            return None;
        }
        state.begun += 1;
        Some(state.begun - 1)
    }

    /// Whether there are blocks that have not begun.
    pub(super) fn begins_blocks(&self) -> bool {
        self.begins_more(&self.state())
    }

    /// After a fault no more blocks begin.
    fn begins_more(&self, state: &State) -> bool {
        state.fault.is_none() && !self.is_stopped() && state.begun < self.blocks()
    }

    /// A block has ended, or was stopped.
    pub(super) fn end_block(&self, is_cut: bool) {
        let mut state = self.state();
        state.done += 1;
        state.is_cut |= is_cut;
        drop(state);
        self.end_if_over();
    }

    /// Ends the launch if all begun blocks have ended.
    pub(super) fn end_if_over(&self) {
        let mut state = self.state();
        if state.done < state.begun || self.begins_more(&state) {
            return;
        }
        let Some(call) = state.call.take() else {
            return;
        };
        drop(state);
        self.end_check();
        self.report_costs();
        let outcome = self.fault(&self.state()).map_or(Ok(()), Err);
        // Waiting threads must be notified even if this panics.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| call(outcome)));
        self.state().is_over = true;
        self.ended.notify_all();
    }

    /// Ends the launch in the checker, whose report is a fault too.
    fn end_check(&self) {
        let Some(check) = &self.check else {
            return;
        };
        if let Some(report) = check.checker.end(self.number) {
            let block = place(report.block, self.grid);
            let thread = place(u64::from(report.thread), self.block);
            let (_, function, pc) = report.site;
            self.fail(block, thread, (function, pc), FaultKind::Race(report.text));
        }
    }

    /// Adds the counts of an ended block's warp.
    pub(super) fn add_costs(&self, costs: CostRecorder) {
        if let Some(all) = &self.costs {
            all.sum
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .add(costs);
        }
    }

    fn report_costs(&self) {
        if let Some(LaunchCosts { count, sum, .. }) = &self.costs {
            let costs = sum
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .costs(&count.entry);
            let kernel = &self.module.functions[self.kernel.index as usize].name;
            // Waiting threads must be notified even if this panics.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| (count.sink)(kernel, &costs)));
        }
    }

    /// Ends it as soon as possible.
    pub(crate) fn stop(&self) {
        let _state = self.state();
        // Relaxed: see `is_stopped`.
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        // Advisory for threads that run blocks; others hold the lock.
        self.stop.load(Ordering::Relaxed)
            || self
                .faulted
                .get()
                .is_some_and(|since| since.elapsed() > PATIENCES_AFTER_FAULT * self.patience)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Waits for the end, at most until `until`; `None` if the launch still runs.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Option<Result<(), Fault>> {
        let mut state = self.state();
        while !state.is_over {
            state = match until {
                None => self
                    .ended
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.checked_duration_since(Instant::now())?;
                    let waited = self.ended.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        Some(self.fault(&state).map_or(Ok(()), Err))
    }

    /// The fault with which it ended.
    fn fault(&self, state: &State) -> Option<Fault> {
        let is_cut = || state.done < self.blocks() || state.is_cut;
        let stopped = || self.fault_of([0; 3], [0; 3], (self.kernel.index, 0), FaultKind::Stopped);
        let fault = state.fault.clone();
        fault.or_else(|| is_cut().then(stopped))
    }

    pub(super) fn count(&self, instructions: u64) {
        // Relaxed: a sum. A thread that has waited for the end sees all of it, by the lock of `state`.
        self.instructions.fetch_add(instructions, Ordering::Relaxed);
    }

    /// Instructions that lanes have executed so far.
    pub(crate) fn instructions(&self) -> u64 {
        // Relaxed: as above; until the end it may be a part of the sum.
        self.instructions.load(Ordering::Relaxed)
    }

    pub(super) fn clock(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Nanoseconds since 1970.
    #[expect(clippy::unused_self, reason = "a clock of the launch, as the other")]
    pub(super) fn timer(&self) -> u64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos() as u64)
    }

    /// The source location of an instruction.
    pub(super) fn place(&self, function: u32, pc: Pc) -> SourceLocation {
        self.module.place(function, pc)
    }

    /// A thread has faulted; the first fault is the launch's.
    pub(super) fn fail(
        &self,
        block: [u32; 3],
        thread: [u32; 3],
        (function, pc): (u32, Pc),
        what: FaultKind,
    ) {
        let mut fault = self.fault_of(block, thread, (function, pc), what);
        if let FaultKind::Unreachable { address, what, .. } = &mut fault.what {
            what.push_str(&self.neighbour(*address));
        }
        self.state().fault.get_or_insert(fault);
        self.faulted.get_or_init(Instant::now);
    }

    /// A description of the memory near an inaccessible address; empty without any.
    fn neighbour(&self, address: u64) -> String {
        let Some(neighbour) = self.memory.neighbour(address) else {
            return String::new();
        };
        let variable = match neighbour {
            Neighbour::Block { start, .. } => self.module.variable_at(start),
            Neighbour::Freed { .. } => None,
        };
        format!(": {}", neighbour.describe(address, variable))
    }

    fn fault_of(
        &self,
        block: [u32; 3],
        thread: [u32; 3],
        (function, pc): (u32, Pc),
        what: FaultKind,
    ) -> Fault {
        Fault {
            kernel: self.module.functions[self.kernel.index as usize]
                .name
                .clone(),
            block,
            thread,
            at: self.place(function, pc),
            what,
        }
    }

    /// The traced lane of a warp.
    pub(super) fn traced_lane(
        &self,
        block: [u32; 3],
        threads: &[[u32; 3]; LANES],
        exists: Mask,
    ) -> Option<usize> {
        let trace = self.trace.as_ref()?;
        if block != trace.block {
            return None;
        }
        lanes_of(exists).find(|&lane| threads[lane] == trace.thread)
    }
}
