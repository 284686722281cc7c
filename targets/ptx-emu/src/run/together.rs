//! Instructions for which lanes come together.

use std::sync::Arc;

use super::block::Common;
use super::exec::LaneFault;
use super::frame::Frame;
use super::joint::{Operands, perform};
use super::launch::Launch;
use super::warp::{Group, State, Warp};
use crate::alu::{LANES, Mask, lanes_of};
use crate::code::Function;
use crate::code::op::{Joint, Op, Together};
use crate::error::FaultKind;
use crate::spec::Model;

/// `active`, which is all of the group at `at`, executes `op`; whether that is done, or
/// they wait for others.
pub(super) fn together(
    warp: &mut Warp,
    common: &mut Common,
    at: usize,
    active: Mask,
    op: &Together,
) -> Result<bool, LaneFault> {
    let launch = Arc::clone(&common.launch);
    let group = warp.groups[at];
    let frame = warp.frames.get(group.frame);
    let function = &launch.module.functions[frame.function as usize];
    let live = warp.live();
    let members = match op.members {
        None => active,
        Some(members) => {
            let named = frame.src(function, members).map(|named| named as Mask);
            let outside = lanes_of(active).find(|&lane| (named[lane] >> lane) & 1 == 0);
            if let Some(lane) = outside {
                let members = named[lane];
                return Err((active, FaultKind::NotTogether { members, active }));
            }
            let members = named[active.trailing_zeros() as usize];
            let same = lanes_of(active).all(|lane| named[lane] == members);
            if !same && warp.model() == Model::Independent {
                // Lanes that happen to be here together wait for different ones.
                split(warp, at, &named);
                join(warp, common);
                return Ok(false);
            }
            members
        }
    };
    if members & live == active {
        let mut operands = Operands::default();
        gather(frame, function, &op.joint, active, &mut operands);
        let results = perform(&op.joint, active, &operands);
        let frame = warp.frames.get_mut(group.frame);
        scatter(frame, &op.joint, active, &results);
        order(warp.number, common, &op.joint, active);
        return Ok(true);
    }
    if warp.model() == Model::LockStep {
        let members = members & live;
        return Err((active, FaultKind::NotTogether { members, active }));
    }
    warp.groups[at].state = State::Joining { members };
    join(warp, common);
    Ok(false)
}

/// Of what lanes do together, `bar.warp.sync` alone orders memory.
fn order(warp: u32, common: &mut Common, joint: &Joint, lanes: Mask) {
    if let (Joint::Sync, Some(strands)) = (joint, &mut common.strands) {
        strands.meet(warp, lanes);
    }
}

/// Makes of a group one for each set of lanes that is named.
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

/// Lets those on who wait for each other and are all there.
pub(super) fn join(warp: &mut Warp, common: &mut Common) {
    let launch = Arc::clone(&common.launch);
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
        let joints: Vec<Joint> = here
            .iter()
            .filter_map(|&at| joint(warp, &launch, &warp.groups[at]))
            .collect();
        let same = |joint: &Joint| are_alike(joint, &joints[0]);
        if joints.len() != here.len() || !joints.iter().all(same) {
            continue;
        }
        let mut operands = Operands::default();
        for (&at, joint) in here.iter().zip(&joints) {
            let group = warp.groups[at];
            let frame = warp.frames.get(group.frame);
            let function = &launch.module.functions[frame.function as usize];
            gather(frame, function, joint, group.lanes, &mut operands);
        }
        let results = perform(&joints[0], lanes, &operands);
        order(warp.number, common, &joints[0], lanes);
        for (&at, joint) in here.iter().zip(&joints) {
            let group = warp.groups[at];
            scatter(
                warp.frames.get_mut(group.frame),
                joint,
                group.lanes,
                &results,
            );
            warp.groups[at].state = State::Ready;
            warp.groups[at].pc += 1;
        }
    }
}

/// Whether two instructions are the same but for their operands.
fn are_alike(one: &Joint, two: &Joint) -> bool {
    match (one, two) {
        (Joint::Shuffle { mode: one, .. }, Joint::Shuffle { mode: two, .. }) => one == two,
        (Joint::Reduce { op: one, .. }, Joint::Reduce { op: two, .. }) => one == two,
        _ => std::mem::discriminant(one) == std::mem::discriminant(two),
    }
}

/// What a group that waits is about to do.
fn joint(warp: &Warp, launch: &Launch, group: &Group) -> Option<Joint> {
    let frame = warp.frames.get(group.frame);
    let function = &launch.module.functions[frame.function as usize];
    match &function.instrs[group.pc as usize].op {
        Op::Together(op) => Some(op.joint),
        _ => None,
    }
}

fn gather(frame: &Frame, function: &Function, joint: &Joint, lanes: Mask, to: &mut Operands) {
    let copy = |src, to: &mut crate::alu::Lanes| {
        let from = frame.src(function, src);
        for lane in lanes_of(lanes) {
            to[lane] = from[lane];
        }
    };
    match joint {
        Joint::Sync | Joint::Elect { .. } => {}
        Joint::Shuffle { a, b, c, .. } => {
            copy(*a, &mut to.a);
            copy(*b, &mut to.b);
            copy(*c, &mut to.c);
        }
        Joint::All { p, .. }
        | Joint::Any { p, .. }
        | Joint::Uniform { p, .. }
        | Joint::Ballot { p, .. } => {
            to.p |= frame.pred(*p) & lanes;
        }
        Joint::MatchAny { a, .. } | Joint::MatchAll { a, .. } | Joint::Reduce { a, .. } => {
            copy(*a, &mut to.a);
        }
    }
}

fn scatter(frame: &mut Frame, joint: &Joint, lanes: Mask, results: &super::joint::Results) {
    match *joint {
        Joint::Sync => {}
        Joint::Shuffle { d, p, .. } | Joint::MatchAll { d, p, .. } => {
            frame.set(d, lanes, &results.d);
            if let Some(p) = p {
                frame.set_pred(p, lanes, results.p);
            }
        }
        Joint::All { d, .. } | Joint::Any { d, .. } | Joint::Uniform { d, .. } => {
            frame.set_pred(d, lanes, results.p);
        }
        Joint::Ballot { d, .. } | Joint::MatchAny { d, .. } | Joint::Reduce { d, .. } => {
            frame.set(d, lanes, &results.d);
        }
        Joint::Elect { d, p } => {
            frame.set(d, lanes, &results.d);
            frame.set_pred(p, lanes, results.p);
        }
    }
}
