//! A block: warps that share memory and barriers, on one OS thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use emu_engine::TurnResult;
use race_check::BlockClocks;

use super::block_state::{BARRIERS, BarrierState, BlockState, WARPS};
use super::cluster;
use super::cluster_barrier::ClusterBarrier;
use super::copies::Copies;
use super::deadlock::DeadlockDetector;
use super::exec::run;
use super::fault::Faulted;
use super::group::State;
use super::launch::{Launch, place};
use super::mbarrier::Mbarriers;
use super::private_memory::Spare;
use super::rendezvous::join;
use super::warp::Warp;
use crate::alu::{LANES, Mask};
use crate::code::op::BarrierKind;
use crate::error::FaultKind;
use crate::spec::Model;

/// Instructions of a warp in a turn.
const TURN: u32 = 1024;

pub(crate) struct Block {
    pub(super) state: BlockState,
    pub(super) warps: Vec<Warp>,
    watch: DeadlockDetector,
}

impl Block {
    pub(super) fn new(
        launch: &Arc<Launch>,
        number: u64,
        processor: u32,
        spare: &mut Spare,
    ) -> Self {
        let index = place(number, launch.grid);
        let threads = launch.threads();
        let function = &launch.module.functions[launch.kernel.index as usize];
        let mut exited = [Mask::MAX; WARPS];
        let warps = (0..threads.div_ceil(LANES as u32))
            .map(|warp| {
                let mut places = [[0; 3]; LANES];
                let mut exists: Mask = 0;
                for lane in 0..LANES as u32 {
                    let thread = warp * LANES as u32 + lane;
                    if thread < threads {
                        places[lane as usize] = place(u64::from(thread), launch.block);
                        exists |= 1 << lane;
                    }
                }
                exited[warp as usize] = !exists;
                let kernel = (launch.kernel.index, function);
                let mut made = Warp::new(
                    warp,
                    places,
                    exists,
                    kernel,
                    launch.model,
                    spare.local(),
                    launch.costs.as_ref().map(|costs| costs.function),
                );
                made.traced = launch.traced_lane(index, &places, exists);
                made
            })
            .collect();
        let clocks = launch.check.as_ref().map(|check| {
            let place = (launch.number, number);
            let are_independent = launch.model == Model::Independent;
            BlockClocks::new(
                &check.checker,
                &check.origin,
                place,
                threads,
                are_independent,
            )
        });
        Self {
            state: BlockState {
                launch: Arc::clone(launch),
                index,
                processor,
                shared: spare.shared(launch.shared_bytes()),
                barriers: [BarrierState::default(); BARRIERS],
                completed: Vec::new(),
                cluster: ClusterBarrier::new(WARPS),
                mbarriers: Mbarriers::default(),
                copies: Copies::default(),
                mbarrier_waits: BTreeMap::new(),
                exited,
                progress: false,
                polls_mapped_memory: false,
                clocks,
                polls: false,
            },
            warps,
            watch: DeadlockDetector::default(),
        }
    }

    /// Lets each warp run for a while.
    pub(super) fn turn(&mut self) -> TurnResult {
        let state = &mut self.state;
        state.progress = false;
        state.polls_mapped_memory = false;
        state.polls = false;
        let mut ran = false;
        for warp in &mut self.warps {
            let result = run(warp, state, TURN);
            warp.advance_round_robin();
            ran |= match result {
                Ok(ran) => ran,
                Err(faulted) => {
                    end_lanes(warp, state, faulted);
                    true
                }
            };
        }
        let released = self.release();
        if self.is_over() {
            return TurnResult::Done;
        }
        if released || self.state.progress {
            self.watch.reset();
            self.state.launch.activity.note();
            return TurnResult::Busy;
        }
        let wakes = self.warps.iter().filter_map(Warp::wakes).min();
        if let Some(report) = self.watch.check(&self.state, &self.warps, ran, wakes) {
            let kind = FaultKind::Deadlock(report);
            for warp in self.warps.iter_mut().filter(|warp| warp.live() != 0) {
                let faulted = Faulted::of(warp, kind.clone());
                end_lanes(warp, &mut self.state, faulted);
            }
            return TurnResult::Done;
        }
        if ran && !self.state.polls {
            // The threads compute.
            return TurnResult::Busy;
        }
        TurnResult::Idle(wakes.filter(|_| !ran))
    }

    /// Whether all threads have ended.
    pub(super) fn is_over(&self) -> bool {
        self.warps.iter().all(|warp| warp.live() == 0)
    }

    /// Releases threads that wait at complete barriers. Returns whether there were any.
    fn release(&mut self) -> bool {
        let live: u32 = self.warps.iter().map(|warp| warp.live().count_ones()).sum();
        for number in 0..BARRIERS {
            let state = &self.state.barriers[number];
            if state.expects.is_none() && !state.is_empty() && state.waiting == live {
                self.state.complete(number);
            }
        }
        let completed = std::mem::take(&mut self.state.completed);
        for &(number, state) in &completed {
            if let Some(clocks) = &mut self.state.clocks {
                let at = |warp: &Warp| warp.at(number, state.phase);
                let waiting = self.warps.iter().map(|warp| (warp.number, at(warp)));
                clocks.depart(number, waiting);
            }
            for warp in &mut self.warps {
                release_lanes(warp, &self.state.launch, number, state);
            }
        }
        let mut is_any = !completed.is_empty();
        for warp in &mut self.warps {
            is_any |= cluster::release(warp, &mut self.state);
        }
        is_any
    }

    /// Gives its counts to the launch, and its memory to other blocks.
    pub(super) fn dismantle(mut self, spare: &mut Spare) {
        for costs in self.warps.iter_mut().filter_map(|warp| warp.costs.take()) {
            self.state.launch.add_costs(*costs);
        }
        let locals = self.warps.into_iter().map(|warp| warp.local);
        spare.add(self.state.shared, locals);
    }
}

/// Releases the lanes of a warp that wait at a barrier.
fn release_lanes(warp: &mut Warp, launch: &Launch, number: usize, state: BarrierState) {
    for at in 0..warp.groups.len() {
        let group = warp.groups[at];
        let phase = state.phase;
        if group.state != (State::AtBarrier { number, phase }) {
            continue;
        }
        let frame = warp.frames.get_mut(group.frame);
        let function = &launch.module.functions[frame.function as usize];
        if let crate::code::op::Op::Barrier(barrier) = &function.instrs[group.pc as usize].op {
            let all = |holds: bool| Mask::from(holds).wrapping_neg();
            match barrier.kind {
                BarrierKind::Sync | BarrierKind::Arrive => {}
                BarrierKind::Count { d, .. } => {
                    frame.set(d, group.lanes, &[u64::from(state.holds); LANES]);
                }
                BarrierKind::All { d, .. } => {
                    frame.set_pred(d, group.lanes, all(state.holds == state.waiting));
                }
                BarrierKind::Any { d, .. } => {
                    frame.set_pred(d, group.lanes, all(state.holds > 0));
                }
            }
        }
        warp.groups[at].state = State::Ready;
        warp.groups[at].pc += 1;
    }
}

/// Lanes end with a fault of the launch; the others continue without them.
fn end_lanes(warp: &mut Warp, block: &mut BlockState, faulted: Faulted) {
    let launch = Arc::clone(&block.launch);
    let lane = faulted.lanes.trailing_zeros() as usize % LANES;
    let place = (faulted.function, faulted.pc);
    // The lanes have not ended anywhere else, and others may wait for them.
    let is_race = matches!(faulted.kind, FaultKind::Race(_));
    launch.fail(block.index, warp.threads[lane], place, faulted.kind);
    if is_race {
        launch.progress.stop();
    }
    warp.exit(faulted.lanes, block);
    join(warp, block);
}
