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

    /// Ends the launch in the checker, whose report is a fault, too.
    fn end_check(&self) {
        let Some(check) = &self.kernel.check else {
            return;
        };
        if let Some(report) = check.checker.end(check.number) {
            let (_, address) = report.site;
            self.progress.fail(self.fault(LaneFault {
                workgroup: self.kernel.workgroup(report.block),
                lane: self.kernel.lane_place(report.thread, 0),
                address,
                kind: FaultKind::Race(report.text),
            }));
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
        self.end_check();
        if let Some(costs) = &self.kernel.costs {
            costs.counts.report(&self.kernel.dispatch.kernel);
        }
    }
}
