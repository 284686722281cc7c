//! The state that the warps of a block share, with its barriers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use race_check::BlockClocks;

use super::cluster_barrier::ClusterBarrier;
use super::copies::{Copies, ThreadId};
use super::launch::Launch;
use super::mbarrier::Mbarriers;
use super::private_memory::PrivateMemory;
use crate::alu::{LANES, Mask};
use crate::code::op::BarrierKind;
use crate::error::FaultKind;
use crate::spec::MAX_THREADS;

/// Barriers of a block.
pub(super) const BARRIERS: usize = 16;

/// State that the warps of a block share.
pub(super) struct BlockState {
    pub(super) launch: Arc<Launch>,
    pub(super) index: [u32; 3],
    /// The multiprocessor, by its number.
    pub(super) processor: u32,
    pub(super) shared: PrivateMemory,
    pub(super) barriers: [BarrierState; BARRIERS],
    /// Completed phases of barriers whose threads still wait.
    pub(super) completed: Vec<(usize, BarrierState)>,
    /// Lanes that do not exist or have ended, by warp.
    pub(super) exited: [Mask; WARPS],
    /// Whether there was an event for which another thread may wait.
    pub(super) progress: bool,
    /// Whether there was a load from mapped memory.
    pub(super) polls_mapped_memory: bool,
    pub(super) cluster: ClusterBarrier,
    pub(super) mbarriers: Mbarriers,
    pub(super) copies: Copies,
    /// Threads whose last test of an `mbarrier` failed.
    pub(super) mbarrier_waits: BTreeMap<ThreadId, MbarrierWait>,
    /// The checker's clocks of the threads.
    pub(super) clocks: Option<BlockClocks>,
    /// Whether there was an access or a fence of a kind that is used for waiting.
    pub(super) polls: bool,
}

/// The state of a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BarrierState {
    /// The number of completed phases.
    pub(super) phase: u64,
    /// Expected threads; `None` for all.
    pub(super) expects: Option<u32>,
    /// Arrived threads, by warp.
    arrived: [Mask; WARPS],
    /// Waiting threads, and those of them with the predicate.
    pub(super) waiting: u32,
    pub(super) holds: u32,
}

/// Warps of a block.
pub(super) const WARPS: usize = MAX_THREADS as usize / LANES;

impl BarrierState {
    pub(super) fn is_empty(&self) -> bool {
        self.arrived.iter().all(|&lanes| lanes == 0)
    }

    /// The number of arrived threads. A barrier counts warps: threads of the warp that do not exist
    /// or have ended arrive with the first.
    fn count(&self, exited: &[Mask; WARPS]) -> u32 {
        let warps = self.arrived.iter().zip(exited);
        let arrived = warps.filter(|&(&arrived, _)| arrived != 0);
        arrived
            .map(|(some, exited)| (some | exited).count_ones())
            .sum()
    }
}

/// An unsuccessful test of an `mbarrier`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MbarrierWait {
    /// Its offset.
    pub(super) mbarrier: u64,
    pub(super) time: Instant,
}

impl BlockState {
    /// The `mbarrier` that a thread waits for, unless it has gone on to something else.
    pub(super) fn awaited_mbarrier(&self, thread: ThreadId) -> Option<u64> {
        let wait = self.mbarrier_waits.get(&thread)?;
        // A thread that waits tests it again and again.
        let is_waiting = wait.time.elapsed() < self.launch.patience / 2;
        is_waiting.then_some(wait.mbarrier)
    }

    /// `lanes` of a warp arrive at a barrier; `holds` of them have the predicate. Returns the number and
    /// the phase of the barrier, for which they wait.
    pub(super) fn arrive(
        &mut self,
        (warp, lanes): (u32, Mask),
        number: u64,
        count: Option<u64>,
        kind: BarrierKind,
        holds: Mask,
    ) -> Result<(usize, u64), FaultKind> {
        let bad = |what| Err(FaultKind::BadBarrier { number, what });
        let most = u64::from(MAX_THREADS);
        let is_count =
            |count: u64| (1..=most).contains(&count) && count.is_multiple_of(LANES as u64);
        if number >= BARRIERS as u64 {
            return bad(format!("a block has {BARRIERS} of them, from 0 on"));
        }
        if let Some(count) = count.filter(|&count| !is_count(count)) {
            return bad(format!(
                "for {count} threads, which is no multiple of {LANES} from {LANES} to {most}"
            ));
        }
        let state = &mut self.barriers[number as usize];
        let expects = count.map(|count| count as u32);
        if !state.is_empty() && state.expects != expects {
            let threads = |count: Option<u32>| match count {
                Some(count) => format!("{count} threads"),
                None => "all threads of the block".to_owned(),
            };
            return bad(format!(
                "for {}, while others are there for {}",
                threads(expects),
                threads(state.expects)
            ));
        }
        let number = number as usize;
        if let Some(clocks) = &mut self.clocks {
            clocks.arrive(number, warp, lanes);
        }
        state.expects = expects;
        state.arrived[warp as usize] |= lanes;
        if kind != BarrierKind::Arrive {
            state.waiting += lanes.count_ones();
        }
        state.holds += (holds & lanes).count_ones();
        let phase = state.phase;
        self.complete_if_all_arrived(number);
        Ok((number, phase))
    }

    /// Lanes of a warp have ended: barriers do not wait for them any more.
    pub(super) fn leave(&mut self, warp: u32, lanes: Mask) {
        self.exited[warp as usize] |= lanes;
        for number in 0..BARRIERS {
            self.complete_if_all_arrived(number);
        }
        self.cluster.complete_if_all_arrived(&self.exited);
    }

    /// Lanes of a warp arrive at the barrier of the cluster.
    pub(super) fn arrive_at_cluster(&mut self, warp: u32, lanes: Mask) -> Result<(), &'static str> {
        self.cluster.arrive(warp, lanes)?;
        if let Some(clocks) = &mut self.clocks {
            clocks.arrive(BARRIERS, warp, lanes);
        }
        self.cluster.complete_if_all_arrived(&self.exited);
        self.progress = true;
        Ok(())
    }

    /// Lanes of a warp leave the barrier of the cluster, which is complete.
    pub(super) fn leave_cluster_barrier(&mut self, warp: u32, lanes: Mask) {
        self.cluster.leave(warp, lanes);
        if let Some(clocks) = &mut self.clocks {
            clocks.observe(BARRIERS, warp, lanes);
        }
    }

    /// Completes a phase that waits for a number of threads if they have arrived.
    fn complete_if_all_arrived(&mut self, number: usize) {
        let state = &self.barriers[number];
        if state
            .expects
            .is_some_and(|count| state.count(&self.exited) >= count)
        {
            self.complete(number);
        }
    }

    /// Completes a phase of a barrier; later arrivals belong to the next.
    pub(super) fn complete(&mut self, number: usize) {
        let state = self.barriers[number];
        self.completed.push((number, state));
        self.barriers[number] = BarrierState {
            phase: state.phase + 1,
            ..BarrierState::default()
        };
    }
}
