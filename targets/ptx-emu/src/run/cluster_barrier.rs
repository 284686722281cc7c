//! The barrier of a cluster of one block. Source: the PTX ISA, `barrier.cluster`.

use crate::alu::Mask;

/// Arrivals, and threads that have yet to wait for a complete phase, by warp.
#[derive(Clone, Debug)]
pub(super) struct ClusterBarrier {
    arrived: Vec<Mask>,
    passed: Vec<Mask>,
}

impl ClusterBarrier {
    pub(super) fn new(warps: usize) -> Self {
        Self {
            arrived: vec![0; warps],
            passed: vec![0; warps],
        }
    }

    /// Lanes of a warp arrive.
    pub(super) fn arrive(&mut self, warp: u32, lanes: Mask) -> Result<(), &'static str> {
        let warp = warp as usize;
        if (self.arrived[warp] | self.passed[warp]) & lanes != 0 {
            return Err("a thread arrives twice without a wait");
        }
        self.arrived[warp] |= lanes;
        Ok(())
    }

    /// Completes the phase if all threads but those of `exited` have arrived.
    pub(super) fn complete_if_all_arrived(&mut self, exited: &[Mask]) {
        let mut warps = self.arrived.iter().zip(exited);
        let is_any = self.arrived.iter().any(|&lanes| lanes != 0);
        if is_any && warps.all(|(arrived, exited)| arrived | exited == Mask::MAX) {
            for (passed, arrived) in self.passed.iter_mut().zip(&mut self.arrived) {
                *passed |= std::mem::take(arrived);
            }
        }
    }

    /// Whether the phase for which lanes of a warp wait is complete.
    pub(super) fn wait(&self, warp: u32, lanes: Mask) -> Result<bool, &'static str> {
        let warp = warp as usize;
        if lanes & !(self.arrived[warp] | self.passed[warp]) != 0 {
            return Err("a thread waits without having arrived");
        }
        Ok(lanes & !self.passed[warp] == 0)
    }

    /// Lanes of a warp go on.
    pub(super) fn leave(&mut self, warp: u32, lanes: Mask) {
        self.passed[warp as usize] &= !lanes;
    }
}
