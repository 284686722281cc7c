//! Faults of lanes.

use super::warp::Warp;
use crate::alu::Mask;
use crate::code::op::Pc;
use crate::error::FaultKind;

/// A fault and its location.
#[derive(Debug)]
pub(super) struct Faulted {
    /// The lanes that it ends; the first one is reported.
    pub(super) lanes: Mask,
    pub(super) function: u32,
    pub(super) pc: Pc,
    pub(super) kind: FaultKind,
}

/// Lanes, and the fault of the first of them.
pub(super) type LaneFault = (Mask, FaultKind);

/// The first lane that faults in an instruction.
#[derive(Default)]
pub(super) struct Faults {
    lanes: Mask,
    first: Option<FaultKind>,
}

impl Faults {
    pub(super) fn add(&mut self, lane: usize, kind: FaultKind) {
        self.lanes |= 1 << lane;
        self.first.get_or_insert(kind);
    }

    /// The value of a lane, unless it faulted.
    pub(super) fn unless<T>(&mut self, lane: usize, found: Result<T, FaultKind>) -> Option<T> {
        found.map_err(|kind| self.add(lane, kind)).ok()
    }

    pub(super) fn result(self) -> Result<(), LaneFault> {
        match self.first {
            None => Ok(()),
            Some(kind) => Err((self.lanes, kind)),
        }
    }
}

impl Faulted {
    /// For a warp as a whole: the position of its first lane.
    pub(super) fn of(warp: &Warp, kind: FaultKind) -> Self {
        let lanes = warp.live();
        let first = lanes & lanes.wrapping_neg();
        let group = warp
            .groups
            .iter()
            .rev()
            .find(|group| group.lanes & first != 0);
        Self {
            lanes,
            function: group.map_or(0, |group| warp.frames.get(group.frame).function),
            pc: group.map_or(0, |group| group.pc),
            kind,
        }
    }
}
