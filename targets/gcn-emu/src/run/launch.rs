//! A running kernel.

use std::sync::Arc;

use emu_engine::{Launch, Progress, TurnResult};

use super::code::Code;
use super::kernel::Kernel;
use super::workgroup::{LaneFault, Spare, Workgroup};
use crate::fault::{Fault, FaultKind};

/// A running kernel.
pub(crate) struct RunningKernel {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) code: Arc<Code>,
    pub(crate) progress: Progress<Fault>,
}

impl RunningKernel {
    fn fault(&self, fault: LaneFault) -> Fault {
        Fault {
            kernel: self.kernel.dispatch.kernel.clone(),
            workgroup: fault.workgroup,
            lane: fault.lane,
            at: self.code.location(self.kernel.target, fault.address),
            kind: fault.kind,
        }
    }

    /// Creates a fault at the kernel's entry, which belongs to no lane.
    fn fault_at_begin(&self, workgroup: [u32; 3], kind: FaultKind) -> Fault {
        self.fault(LaneFault {
            workgroup,
            lane: [0; 3],
            address: self.kernel.entry(),
            kind,
        })
    }
}

impl Launch for RunningKernel {
    type Fault = Fault;
    type Block = Workgroup;
    type Spare = Spare;

    fn progress(&self) -> &Progress<Fault> {
        &self.progress
    }

    fn threads(&self) -> u32 {
        self.kernel.threads()
    }

    fn block(self: &Arc<Self>, number: u64, processor: u32, spare: &mut Spare) -> Workgroup {
        Workgroup::new(&self.kernel, &self.code, number, processor, spare)
    }

    fn turn(&self, block: &mut Workgroup) -> TurnResult {
        let result = block.turn();
        let (done, faults) = block.take_report();
        self.progress.count(done);
        for fault in faults {
            self.progress.fail(self.fault(fault));
        }
        result
    }

    fn dismantle(&self, block: Workgroup, spare: &mut Spare) -> bool {
        let is_over = block.is_over();
        block.dismantle(spare);
        is_over
    }

    fn fail_by_panic(&self, block: &Workgroup, message: String) {
        let kind = FaultKind::Interpreter(message);
        self.progress.fail(self.fault_at_begin(block.place(), kind));
    }

    fn stopped(&self) -> Fault {
        self.fault_at_begin([0; 3], FaultKind::Stopped)
    }

    fn finish(&self) {
        if let Some(costs) = &self.kernel.costs {
            costs.counts.report(&self.kernel.dispatch.kernel);
        }
    }
}
