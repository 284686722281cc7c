//! A running kernel.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bus_cost::CountCosts;
use bus_cost::record;
use device_arena::Neighbour;
use emu_engine::{Activity, Progress};
use race_check::{Checker, Clock};

use super::costs::CostRecorder;
use crate::alu::{LANES, Mask, lanes_of};
use crate::check;
use crate::code::op::Pc;
use crate::error::{Fault, FaultKind, SourceLocation};
use crate::memory::Memory;
use crate::module::{Kernel, Module};
use crate::spec::Model;

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
    /// The number of the function whose calls are counted apart; `None` if the module has none.
    pub(super) function: Option<u32>,
    all: record::LaunchCosts,
}

/// Called once with the result of a launch.
pub type OnEnd = emu_engine::OnEnd<Fault>;

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
    pub(crate) progress: Progress<Fault>,
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
            all: record::LaunchCosts::new(count),
        });
        let blocks = make.grid.iter().map(|&n| u64::from(n)).product();
        Self {
            progress: Progress::new(blocks, make.processors, make.patience, make.ended),
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
        }
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(super) fn shared_bytes(&self) -> u32 {
        self.module.shared + self.dynamic_shared
    }

    pub(super) fn module_id(&self) -> u64 {
        check::number_of(&self.module)
    }

    /// Ends the launch in the checker, whose report is a fault too.
    pub(super) fn end_check(&self) {
        let Some(check) = &self.check else {
            return;
        };
        if let Some(report) = check.checker.end(self.number) {
            let block = place(report.block, self.grid);
            let thread = place(u64::from(report.thread), self.block);
            let at = check::instruction(report.site);
            self.fail(block, thread, at, FaultKind::Race(report.text));
        }
    }

    /// Adds the counts of an ended block's warp.
    pub(super) fn add_costs(&self, costs: CostRecorder) {
        if let Some(costs_of_launch) = &self.costs {
            costs_of_launch.all.add(costs.into_recorder());
        }
    }

    pub(super) fn report_costs(&self) {
        if let Some(costs) = &self.costs {
            let kernel = &self.module.functions[self.kernel.index as usize].name;
            costs.all.report(kernel);
        }
    }

    /// The fault of a launch that was stopped before its end.
    pub(crate) fn stopped(&self) -> Fault {
        self.fault_of([0; 3], [0; 3], (self.kernel.index, 0), FaultKind::Stopped)
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
        self.progress.fail(fault);
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
