//! Instructions of clusters, which have one block here.

use super::block_state::BlockState;
use super::fault::{Faults, LaneFault};
use super::group::State;
use super::warp::Warp;
use crate::alu::{Mask, lanes_of};
use crate::code::cluster::Cluster;
use crate::error::FaultKind;

/// Executes `op` for `active`, the whole group at `at`. Returns whether it is complete; otherwise the
/// lanes wait.
pub(super) fn execute(
    warp: &mut Warp,
    block: &mut BlockState,
    at: usize,
    active: Mask,
    op: &Cluster,
) -> Result<bool, LaneFault> {
    let bad = |what| (active, FaultKind::BadClusterBarrier(what));
    match *op {
        Cluster::Arrive => {
            block.arrive_at_cluster(warp.number, active).map_err(bad)?;
            Ok(true)
        }
        Cluster::Wait => {
            let has_passed = block.cluster.wait(warp.number, active).map_err(bad)?;
            if has_passed {
                block.leave_cluster_barrier(warp.number, active);
            } else {
                warp.groups[at].state = State::AtClusterBarrier;
            }
            Ok(has_passed)
        }
        Cluster::MapAddress { d, a, rank } => {
            let id = warp.groups[at].frame;
            let frame = warp.frames.get(id);
            let (a, ranks) = (*frame.src(a), *frame.src(rank));
            let mut faults = Faults::default();
            for lane in lanes_of(active).filter(|&lane| ranks[lane] != 0) {
                let rank = ranks[lane];
                faults.add(lane, FaultKind::BadRank { rank });
            }
            warp.frames.get_mut(id).set(d, active, &a);
            faults.result().map(|()| true)
        }
    }
}

/// Releases lanes of a warp that wait at the barrier of the cluster, if it is complete.
pub(super) fn release(warp: &mut Warp, block: &mut BlockState) -> bool {
    let mut is_any = false;
    for at in 0..warp.groups.len() {
        let group = warp.groups[at];
        let is_over = |block: &BlockState| block.cluster.wait(warp.number, group.lanes) == Ok(true);
        if group.state == State::AtClusterBarrier && is_over(block) {
            block.leave_cluster_barrier(warp.number, group.lanes);
            warp.groups[at].state = State::Ready;
            warp.groups[at].pc += 1;
            is_any = true;
        }
    }
    is_any
}
