//! Detecting threads that wait for each other forever.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use emu_engine::Stalled;

use super::block_state::BlockState;
use super::group::{Group, State};
use super::warp::Warp;
use crate::alu::lanes_of;
use crate::spec::Model;

/// Detects a deadlock of a block without progress.
///
/// If all of its threads wait at barriers or for lanes, the deadlock is certain. Spinning threads
/// are deadlocked if their registers repeat, no load is from memory that the host may change, and
/// there was no progress on the whole device for the launch's patience.
///
/// Loops that wait for an `mbarrier` read clocks, so their registers do not repeat. But only threads of
/// the block change its objects. So if each thread's last test of one failed, and the others wait, too,
/// patience alone decides.
#[derive(Debug, Default)]
pub(super) struct DeadlockDetector(Stalled);

impl DeadlockDetector {
    /// Records progress.
    pub(super) fn reset(&mut self) {
        self.0.reset();
    }

    /// Checks after a turn without progress. Returns a report of a deadlock.
    pub(super) fn check(
        &mut self,
        block: &BlockState,
        warps: &[Warp],
        ran: bool,
        wakes: Option<Instant>,
    ) -> Option<String> {
        if !ran && wakes.is_none() {
            return Some(report(block, warps));
        }
        if block.polls_mapped_memory {
            block.launch.activity.note();
        }
        let patience = block.launch.patience;
        let is_early = self.0.duration() < patience || block.launch.activity.is_recent(patience);
        // Threads that do not poll are computing, however long.
        if is_early || !ran || !block.polls {
            return None;
        }
        if all_wait_for_mbarriers(block, warps) {
            return Some(report(block, warps));
        }
        self.0.loops(state(warps)).then(|| report(block, warps))
    }
}

/// Whether no thread does anything but wait, some of them for an `mbarrier`.
fn all_wait_for_mbarriers(block: &BlockState, warps: &[Warp]) -> bool {
    let waits = |warp: &Warp, lane| block.awaited_mbarrier((warp.number, lane)).is_some();
    let is_waiting = |warp: &Warp, group: &Group| match group.state {
        State::Ready | State::Sleeping { .. } => {
            lanes_of(group.lanes & warp.live()).all(|lane| waits(warp, lane))
        }
        _ => true,
    };
    let mut all = warps.iter().filter(|warp| warp.live() != 0);
    !block.mbarrier_waits.is_empty()
        && all.all(|warp| warp.groups.iter().all(|group| is_waiting(warp, group)))
}

/// A hash of the state of warps, except for memory.
fn state(warps: &[Warp]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for warp in warps {
        for group in &warp.groups {
            (group.lanes, group.pc).hash(&mut hasher);
            let mut next = Some((group.frame, group.pc));
            while let Some((frame, pc)) = next {
                let frame = warp.frames.get(frame);
                (pc, frame.function, frame.base, frame.carry).hash(&mut hasher);
                frame.regs().hash(&mut hasher);
                frame.preds.hash(&mut hasher);
                next = frame.caller;
            }
        }
    }
    hasher.finish()
}

/// A report of the waiting lanes.
fn report(block: &BlockState, warps: &[Warp]) -> String {
    let [x, y, z] = block.index;
    let mut text = format!("no thread of block ({x}, {y}, {z}) makes progress:");
    for warp in warps {
        let top = warp.groups.len().saturating_sub(1);
        for (at, group) in warp.groups.iter().enumerate() {
            let lanes = group.lanes & warp.live();
            // In lock-step, lanes of groups higher on the stack are also in those below.
            let above = match warp.model() {
                Model::LockStep => warp.groups[at + 1..].iter().fold(0, |m, g| m | g.lanes),
                Model::Independent => 0,
            };
            let lanes = lanes & !above;
            if lanes == 0 {
                continue;
            }
            let frame = warp.frames.get(group.frame);
            let pc = group.pc.min(
                block.launch.module.functions[frame.function as usize]
                    .instrs
                    .len() as u32
                    - 1,
            );
            let place = block.launch.place(frame.function, pc);
            let first = lanes_of(lanes).next().unwrap_or_default();
            let mbarrier = block.awaited_mbarrier((warp.number, first));
            let why = match group.state {
                State::AtBarrier { number, .. } => format!("wait at barrier {number}"),
                State::AtClusterBarrier => "wait at the cluster's barrier".to_owned(),
                State::Joining { members } => format!("wait for lanes {members:#010x}"),
                State::Reconverging { .. } => "wait for the others of a branch".to_owned(),
                State::Ready | State::Sleeping { .. }
                    if warp.model() == Model::LockStep && at < top =>
                {
                    "wait for the lanes below, from which they diverged".to_owned()
                }
                State::Ready | State::Sleeping { .. } => match mbarrier {
                    Some(at) => format!("wait for the mbarrier at {at:#x}"),
                    None => "spin".to_owned(),
                },
            };
            let _ = write!(
                text,
                "\n  warp {}, lanes {lanes:#010x} (first {first}): {why}, at {place}",
                warp.number
            );
        }
    }
    text
}
