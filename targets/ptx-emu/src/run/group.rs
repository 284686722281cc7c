//! Groups of lanes that run together, their states, and the points where they reconverge.

use std::time::Instant;

use super::frame::FrameId;
use super::spinning::Polling;
use crate::alu::Mask;
use crate::code::op::Pc;

/// The state of a group of lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Ready,
    Sleeping {
        until: Instant,
    },
    /// At a barrier of the block.
    AtBarrier {
        number: usize,
        phase: u64,
    },
    /// At the barrier of the cluster.
    AtClusterBarrier,
    /// Until all members of a collective instruction have arrived.
    Joining {
        members: Mask,
    },
    /// Until the others of a branch have arrived.
    Reconverging {
        /// Abandoned waits of the warp at the begin of this one.
        since: u64,
        /// The work of the warp at that time.
        work: u64,
    },
}

/// Lanes that run together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) lanes: Mask,
    pub(super) pc: Pc,
    pub(super) frame: FrameId,
    pub(super) state: State,
    /// In lock-step: the reconvergence point with the lanes below on the stack.
    pub(super) meets: Pc,
    /// In lock-step: whether it is the first of its call.
    pub(super) is_base: bool,
    pub(super) polling: Polling,
}

/// A reconvergence point of a branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reconvergence {
    pub(super) frame: FrameId,
    pub(super) pc: Pc,
    pub(super) lanes: Mask,
}

impl Reconvergence {
    pub(super) fn is_at(&self, group: &Group) -> bool {
        self.frame == group.frame && self.pc == group.pc
    }
}
