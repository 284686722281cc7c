//! A kernel under way.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::frame::FrameId;
use super::warp::{Model, Warp};
use crate::alu::{LANES, Mask, lanes_of};
use crate::check::{Checker, Clock};
use crate::code::op::Pc;
use crate::error::{Fault, FaultKind, Place};
use crate::machine::Trace;
use crate::memory::Memory;
use crate::module::{Kernel, Module};

/// When something last happened on the device that may bring others on.
#[derive(Debug)]
pub(crate) struct Activity {
    start: Instant,
    /// Milliseconds since.
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
        // A hint: nothing is ordered by it.
        self.last.store(now, Ordering::Relaxed);
    }

    pub(crate) fn is_recent(&self, within: Duration) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last) < within
    }
}

/// What is to be called once, when a launch has ended.
pub(crate) type Ended = Box<dyn FnOnce() + Send>;

/// The checker, and what it knows where the launch begins.
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
    pub(super) params: Vec<u8>,
    pub(super) dynamic_shared: u32,
    pub(super) model: Model,
    pub(super) processors: u32,
    pub(super) patience: Duration,
    pub(super) activity: Arc<Activity>,
    pub(super) check: Option<Check>,
    pub(super) output: Arc<dyn Fn(&str) + Send + Sync>,
    pub(super) trace: Option<Trace>,
    pub(super) start: Instant,
    state: Mutex<State>,
    ended: Condvar,
    stop: AtomicBool,
    instructions: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Blocks that were handed out, and those that have ended.
    begun: u64,
    done: u64,
    fault: Option<Box<Fault>>,
    is_over: bool,
    call: Option<Ended>,
}

/// What a launch is made of.
pub(crate) struct Make {
    pub(crate) number: u64,
    pub(crate) module: Arc<Module>,
    pub(crate) kernel: Kernel,
    pub(crate) memory: Arc<Memory>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) params: Vec<u8>,
    pub(crate) dynamic_shared: u32,
    pub(crate) model: Model,
    pub(crate) processors: u32,
    pub(crate) patience: Duration,
    pub(crate) activity: Arc<Activity>,
    pub(crate) check: Option<Check>,
    pub(crate) output: Arc<dyn Fn(&str) + Send + Sync>,
    pub(crate) trace: Option<Trace>,
    pub(crate) start: Instant,
    pub(crate) ended: Ended,
}

/// The place of something by its number, x first.
pub(super) fn place(number: u64, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let [x, y] = [x, y].map(u64::from);
    [number % x, number / x % y, number / x / y].map(|n| n as u32)
}

impl Launch {
    pub(crate) fn new(make: Make) -> Self {
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
            start: make.start,
            state: Mutex::new(State {
                call: Some(make.ended),
                ..State::default()
            }),
            ended: Condvar::new(),
            stop: AtomicBool::new(false),
            instructions: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
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

    /// The next block to run, unless there is none any more.
    pub(super) fn take_block(&self) -> Option<u64> {
        if self.is_stopped() {
            return None;
        }
        let mut state = self.state();
        if state.begun == self.blocks() {
            return None;
        }
        state.begun += 1;
        Some(state.begun - 1)
    }

    /// Whether there are blocks left to take.
    pub(super) fn has_blocks(&self) -> bool {
        !self.is_stopped() && self.state().begun < self.blocks()
    }

    /// A block has ended, well or not.
    pub(super) fn end_block(&self, fault: Option<Box<Fault>>) {
        let mut state = self.state();
        if state.fault.is_none() {
            state.fault = fault;
        }
        if state.fault.is_some() {
            // The others are of no use any more.
            self.stop.store(true, Ordering::Relaxed);
        }
        state.done += 1;
        let over = if self.is_stopped() {
            state.begun
        } else {
            self.blocks()
        };
        if state.done == over && !state.is_over {
            self.end(state);
        }
    }

    /// All its blocks have ended, or never will begin.
    fn end(&self, mut state: MutexGuard<'_, State>) {
        let call = state.call.take();
        drop(state);
        if let Some(check) = &self.check {
            let report = check.checker.end(self.number);
            let mut state = self.state();
            if let (None, Some(report)) = (&state.fault, report) {
                let index = place(report.block, self.grid);
                let thread = place(u64::from(report.thread), self.block);
                let (_, function, pc) = report.site;
                let what = FaultKind::Race(report.text);
                state.fault = Some(self.fault(index, thread, (function, pc), what));
            }
        }
        if let Some(call) = call {
            call();
        }
        self.state().is_over = true;
        self.ended.notify_all();
    }

    /// Ends it at the next chance.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        // A hint, to be noticed at some time.
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends a launch that was stopped before any of its blocks began.
    pub(super) fn end_unbegun(&self) {
        let state = self.state();
        if state.done == state.begun && !state.is_over {
            self.end(state);
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Waits for the end, at most until then; `None` if it has not come.
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
        Some(match &state.fault {
            None => Ok(()),
            Some(fault) => Err(Fault::clone(fault)),
        })
    }

    pub(super) fn count(&self, instructions: u64) {
        self.instructions.fetch_add(instructions, Ordering::Relaxed);
    }

    /// Instructions that lanes have executed so far.
    pub(crate) fn instructions(&self) -> u64 {
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

    /// Where an instruction stands.
    pub(super) fn place(&self, function: u32, pc: Pc) -> Place {
        self.module.place(function, pc)
    }

    pub(super) fn fault(
        &self,
        block: [u32; 3],
        thread: [u32; 3],
        (function, pc): (u32, Pc),
        what: FaultKind,
    ) -> Box<Fault> {
        Box::new(Fault {
            kernel: self.module.functions[self.kernel.0 as usize].name.clone(),
            block,
            thread,
            at: self.place(function, pc),
            what,
        })
    }

    /// The lane of a warp whose instructions are to be printed.
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

    /// Prints an instruction that the traced lane came to.
    pub(super) fn trace(&self, warp: &Warp, frame: FrameId, (function, pc): (u32, Pc), on: bool) {
        let (Some(trace), Some(lane)) = (&self.trace, warp.traced) else {
            return;
        };
        let frame = warp.frames.get(frame);
        let place = self.place(function, pc);
        let instr = &self.module.functions[function as usize].instrs[pc as usize];
        let result = match instr.op.result() {
            Some(d) if on => format!("  = {:#x}", frame.regs[d as usize][lane]),
            _ if on => String::new(),
            _ => "  (not executed)".to_owned(),
        };
        (trace.sink)(&format!(
            "{}:{}: {}{result}",
            place.part, place.line, place.text
        ));
    }
}
