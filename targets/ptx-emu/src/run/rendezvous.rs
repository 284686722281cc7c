//! Collective instructions: lanes wait for the other members.

use std::sync::Arc;

use super::block_state::BlockState;
use super::collective::{Operands, perform};
use super::fault::LaneFault;
use super::frame::Frame;
use super::group::{Group, State};
use super::launch::Launch;
use super::warp::Warp;
use crate::alu::{LANES, Mask, lanes_of};
use crate::code::op::{Collective, CollectiveKind, Op};
use crate::error::FaultKind;
use crate::spec::Model;

/// Executes `op` for `active`, the whole group at `at`. Returns whether it is complete; otherwise the
/// lanes wait for others.
pub(super) fn collective(
    warp: &mut Warp,
    block: &mut BlockState,
    at: usize,
    active: Mask,
    op: &Collective,
) -> Result<bool, LaneFault> {
    let group = warp.groups[at];
    let frame = warp.frames.get(group.frame);
    let live = warp.live();
    let members = match op.members {
        None => active,
        Some(members) => {
            let named = frame.src(members).map(|named| named as Mask);
            let outside = lanes_of(active).find(|&lane| (named[lane] >> lane) & 1 == 0);
            if let Some(lane) = outside {
                let members = named[lane];
                return Err((active, FaultKind::NotTogether { members, active }));
            }
            let members = named[active.trailing_zeros() as usize];
            let same = lanes_of(active).all(|lane| named[lane] == members);
            if !same && warp.model() == Model::Independent {
                // Lanes of this group wait for different members.
                split(warp, at, &named);
                join(warp, block);
                return Ok(false);
            }
            members
        }
    };
    if members & live == active {
        let mut operands = Operands::default();
        gather(frame, &op.kind, active, &mut operands);
        let results = perform(&op.kind, active, &operands);
        let frame = warp.frames.get_mut(group.frame);
        scatter(frame, &op.kind, active, &results);
        order(warp.number, block, &op.kind, active);
        return Ok(true);
    }
    if warp.model() == Model::LockStep {
        let members = members & live;
        return Err((active, FaultKind::NotTogether { members, active }));
    }
    warp.groups[at].state = State::Joining { members };
    join(warp, block);
    Ok(false)
}

/// `bar.warp.sync` orders memory, unlike the other collectives.
fn order(warp: u32, block: &mut BlockState, kind: &CollectiveKind, lanes: Mask) {
    if let (CollectiveKind::Sync, Some(clocks)) = (kind, &mut block.clocks) {
        clocks.sync_lanes(warp, lanes);
    }
}

/// Splits a group by the members that its lanes name.
fn split(warp: &mut Warp, at: usize, named: &[Mask; LANES]) {
    let group = warp.groups.swap_remove(at);
    let mut left = group.lanes;
    while left != 0 {
        let members = named[left.trailing_zeros() as usize];
        let same = lanes_of(left).filter(|&lane| named[lane] == members);
        let lanes = same.fold(0, |mask, lane| mask | 1 << lane);
        left &= !lanes;
        let mut part = group;
        part.lanes = lanes;
        part.state = State::Joining { members };
        warp.groups.push(part);
    }
}

/// Completes collectives whose members have all arrived.
pub(super) fn join(warp: &mut Warp, block: &mut BlockState) {
    let launch = Arc::clone(&block.launch);
    let waiting = |group: &Group| match group.state {
        State::Joining { members } => Some(members),
        _ => None,
    };
    let candidates: Vec<Mask> = warp.groups.iter().filter_map(waiting).collect();
    for members in candidates {
        let here: Vec<usize> = (0..warp.groups.len())
            .filter(|&at| waiting(&warp.groups[at]) == Some(members))
            .collect();
        let lanes = here
            .iter()
            .fold(0, |mask, &at| mask | warp.groups[at].lanes);
        if here.is_empty() || lanes != members & warp.live() {
            continue;
        }
        if at_one_matrix_instruction(warp, &launch, &here) {
            // They execute it together, or fault because a lane has ended.
            here.iter()
                .for_each(|&at| warp.groups[at].state = State::Ready);
            continue;
        }
        let kinds: Vec<CollectiveKind> = here
            .iter()
            .filter_map(|&at| kind(warp, &launch, &warp.groups[at]))
            .collect();
        let same = |kind: &CollectiveKind| are_alike(kind, &kinds[0]);
        if kinds.len() != here.len() || !kinds.iter().all(same) {
            continue;
        }
        let mut operands = Operands::default();
        for (&at, kind) in here.iter().zip(&kinds) {
            let group = warp.groups[at];
            let frame = warp.frames.get(group.frame);
            gather(frame, kind, group.lanes, &mut operands);
        }
        let results = perform(&kinds[0], lanes, &operands);
        order(warp.number, block, &kinds[0], lanes);
        for (&at, kind) in here.iter().zip(&kinds) {
            let group = warp.groups[at];
            scatter(
                warp.frames.get_mut(group.frame),
                kind,
                group.lanes,
                &results,
            );
            warp.groups[at].state = State::Ready;
            warp.groups[at].pc += 1;
        }
    }
}

/// Whether groups wait at the same instruction on matrices.
fn at_one_matrix_instruction(warp: &Warp, launch: &Launch, groups: &[usize]) -> bool {
    let first = &warp.groups[groups[0]];
    let frame = warp.frames.get(first.frame);
    let function = &launch.module.functions[frame.function as usize];
    let is_same = |&at: &usize| {
        let group = &warp.groups[at];
        (group.frame, group.pc) == (first.frame, first.pc)
    };
    matches!(function.instrs[first.pc as usize].op, Op::Matrix(_)) && groups.iter().all(is_same)
}

/// Whether two instructions are the same except for their operands.
fn are_alike(one: &CollectiveKind, two: &CollectiveKind) -> bool {
    match (one, two) {
        (CollectiveKind::Shuffle { mode: one, .. }, CollectiveKind::Shuffle { mode: two, .. }) => {
            one == two
        }
        (CollectiveKind::Reduce { op: one, .. }, CollectiveKind::Reduce { op: two, .. }) => {
            one == two
        }
        _ => std::mem::discriminant(one) == std::mem::discriminant(two),
    }
}

/// The collective of a waiting group.
fn kind(warp: &Warp, launch: &Launch, group: &Group) -> Option<CollectiveKind> {
    let frame = warp.frames.get(group.frame);
    let function = &launch.module.functions[frame.function as usize];
    match &function.instrs[group.pc as usize].op {
        Op::Collective(op) => Some(op.kind),
        _ => None,
    }
}

fn gather(frame: &Frame, kind: &CollectiveKind, lanes: Mask, to: &mut Operands) {
    let copy = |src, to: &mut crate::alu::Lanes| {
        let from = frame.src(src);
        for lane in lanes_of(lanes) {
            to[lane] = from[lane];
        }
    };
    match kind {
        CollectiveKind::Sync | CollectiveKind::Elect { .. } => {}
        CollectiveKind::Shuffle { a, b, c, .. } => {
            copy(*a, &mut to.a);
            copy(*b, &mut to.b);
            copy(*c, &mut to.c);
        }
        CollectiveKind::All { p, .. }
        | CollectiveKind::Any { p, .. }
        | CollectiveKind::Uniform { p, .. }
        | CollectiveKind::Ballot { p, .. } => {
            to.p |= frame.pred(*p) & lanes;
        }
        CollectiveKind::MatchAny { a, .. }
        | CollectiveKind::MatchAll { a, .. }
        | CollectiveKind::Reduce { a, .. } => {
            copy(*a, &mut to.a);
        }
    }
}

fn scatter(
    frame: &mut Frame,
    kind: &CollectiveKind,
    lanes: Mask,
    results: &super::collective::Results,
) {
    match *kind {
        CollectiveKind::Sync => {}
        CollectiveKind::Shuffle { d, p, .. } | CollectiveKind::MatchAll { d, p, .. } => {
            frame.set(d, lanes, &results.d);
            if let Some(p) = p {
                frame.set_pred(p, lanes, results.p);
            }
        }
        CollectiveKind::All { d, .. }
        | CollectiveKind::Any { d, .. }
        | CollectiveKind::Uniform { d, .. } => {
            frame.set_pred(d, lanes, results.p);
        }
        CollectiveKind::Ballot { d, .. }
        | CollectiveKind::MatchAny { d, .. }
        | CollectiveKind::Reduce { d, .. } => {
            frame.set(d, lanes, &results.d);
        }
        CollectiveKind::Elect { d, p } => {
            frame.set(d, lanes, &results.d);
            frame.set_pred(p, lanes, results.p);
        }
    }
}
