//! A warp: 32 lanes in groups that run together, and their positions.

use std::sync::Arc;

use super::costs::CostRecorder;
use super::frame::Frames;
use super::group::{Group, Reconvergence, State};
use super::private_memory::PrivateMemory;
use super::spinning::{CycleDetector, Polling, Rounds};
use crate::alu::{LANES, Mask};
use crate::code::Function;
use crate::code::op::FUNCTION_END;
use crate::spec::Model;

#[derive(Debug)]
pub(super) struct Warp {
    pub(super) number: u32,
    /// Indices of the threads in the block.
    pub(super) threads: Arc<[[u32; 3]; LANES]>,
    pub(super) exists: Mask,
    pub(super) exited: Mask,
    /// In lock-step a stack, of which only the top runs.
    pub(super) groups: Vec<Group>,
    pub(super) frames: Frames,
    pub(super) local: PrivateMemory,
    /// The number of turns, for the round-robin among groups.
    pub(super) round_robin: usize,
    pub(super) model: Model,
    /// Reconvergence points of divergent groups.
    pub(super) reconvergences: Vec<Reconvergence>,
    /// The last values of its groups' polls, while lanes have to reconverge.
    pub(super) found: Vec<(u64, u64)>,
    pub(super) cycles: [CycleDetector; LANES],
    pub(super) rounds: [Rounds; LANES],
    /// The number of abandoned waits.
    pub(super) given_up: u64,
    /// Instructions of the warp, some of which count as many.
    pub(super) work: u64,
    /// How often a limit ended a wait, while lanes have to reconverge.
    pub(super) halvings: u32,
    /// A traced lane.
    pub(super) traced: Option<usize>,
    /// The counts of what it does on the bus.
    pub(super) costs: Option<Box<CostRecorder>>,
}

impl Warp {
    pub(super) fn new(
        number: u32,
        threads: [[u32; 3]; LANES],
        exists: Mask,
        kernel: (u32, &Function),
        model: Model,
        local: PrivateMemory,
        counted: Option<Option<u32>>,
    ) -> Self {
        let mut frames = Frames::new(counted.flatten());
        let frame = frames.enter(kernel.0, kernel.1, None, 0, exists);
        let group = Group {
            lanes: exists,
            pc: 0,
            frame,
            state: State::Ready,
            meets: FUNCTION_END,
            is_base: true,
            polling: Polling::default(),
        };
        Self {
            number,
            threads: Arc::new(threads),
            exists,
            exited: 0,
            groups: vec![group],
            frames,
            local,
            round_robin: 0,
            model,
            reconvergences: Vec::new(),
            found: Vec::new(),
            cycles: [CycleDetector::default(); LANES],
            rounds: [Rounds::default(); LANES],
            given_up: 0,
            work: 0,
            halvings: 0,
            traced: None,
            costs: counted.map(|function| {
                let mut costs = CostRecorder::default();
                if function == Some(kernel.0) {
                    costs.enter_call(exists);
                }
                Box::new(costs)
            }),
        }
    }

    pub(super) fn live(&self) -> Mask {
        self.exists & !self.exited
    }

    /// The lanes that wait at a barrier, in its phase.
    pub(super) fn at(&self, number: usize, phase: u64) -> Mask {
        let waits = |group: &&Group| group.state == State::AtBarrier { number, phase };
        let groups = self.groups.iter().filter(waits);
        groups.fold(0, |mask, group| mask | group.lanes)
    }

    pub(super) fn model(&self) -> Model {
        self.model
    }

    /// Merges another group into this one.
    pub(super) fn merge(&mut self, at: &mut usize, other: usize) {
        let it = self.groups.swap_remove(other);
        if *at == self.groups.len() {
            *at = other;
        }
        let group = &mut self.groups[*at];
        group.lanes |= it.lanes;
        group.polling.merge(&it.polling);
    }

    /// Whether lanes have to reconverge.
    pub(super) fn is_diverged(&self) -> bool {
        !self.reconvergences.is_empty()
    }

    /// Whether a group waits for others of its branch.
    pub(super) fn has_waiting(&self) -> bool {
        !self.reconvergences.is_empty() && self.waiting().next().is_some()
    }

    /// Groups that wait, and what was given up and done in the warp when they began.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (usize, u64, u64)> {
        let groups = self.groups.iter().enumerate();
        groups.filter_map(|(at, group)| match group.state {
            State::Reconverging { since, work } => Some((at, since, work)),
            _ => None,
        })
    }
}
