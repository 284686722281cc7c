//! How processors run the blocks of a launch.

use std::sync::Arc;

use emu_engine::{Progress, TurnResult};

use super::block::Block;
use super::launch::Launch;
use super::private_memory::Spare;
use crate::error::{Fault, FaultKind};

impl emu_engine::Launch for Launch {
    type Fault = Fault;
    type Block = Block;
    type Spare = Spare;

    fn progress(&self) -> &Progress<Fault> {
        &self.progress
    }

    fn threads(&self) -> u32 {
        self.threads()
    }

    fn block(self: &Arc<Self>, number: u64, processor: u32, spare: &mut Spare) -> Block {
        Block::new(self, number, processor, spare)
    }

    fn turn(&self, block: &mut Block) -> TurnResult {
        block.turn()
    }

    fn dismantle(&self, block: Block, spare: &mut Spare) -> bool {
        let is_over = block.is_over();
        block.dismantle(spare);
        is_over
    }

    fn fail_by_panic(&self, block: &Block, message: String) {
        let start = (self.kernel.index, 0);
        let what = FaultKind::Interpreter(message);
        self.fail(block.state.index, [0; 3], start, what);
    }

    fn stopped(&self) -> Fault {
        self.stopped()
    }

    fn finish(&self) {
        self.end_check();
        self.report_costs();
    }
}
