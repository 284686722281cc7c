//! Executing instructions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::access::{Effects, Ids, addresses, atom, load, store};
use super::asynchronous;
use super::block_state::BlockState;
use super::cluster;
use super::costs::Executed;
use super::fault::{Faulted, Faults, LaneFault};
use super::frame::Frame;
use super::group::State;
use super::launch::Launch;
use super::matrix;
use super::private_memory::PrivateMemory;
use super::rendezvous::{collective, join};
use super::space::{Spaces, is_in, window};
use super::system;
use super::warp::Warp;
use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::code::Function;
use crate::code::op::{
    BarrierKind, Callee, FUNCTION_END, Instr, Logic, Op, Pc, PredSrc, Special, Src, StateSpace,
};
use crate::error::FaultKind;
use crate::spec::Model;

/// The effect of a control instruction on its group.
enum Flow {
    Next,
    /// The whole group has jumped.
    Jumped(Pc),
    /// The group waits, has diverged, or is another one.
    Changed,
}

/// Executes up to `budget` instructions of a warp. Returns whether it executed any.
pub(super) fn run(warp: &mut Warp, block: &mut BlockState, budget: u32) -> Result<bool, Faulted> {
    let launch = Arc::clone(&block.launch);
    let mut left = budget;
    let mut executed = 0u64;
    let mut result = Ok(());
    while left > 0 && result.is_ok() {
        let Some((at, is_first)) = warp.choose() else {
            break;
        };
        let before = left;
        result = run_group(
            warp,
            block,
            &launch,
            (at, is_first),
            &mut left,
            &mut executed,
        );
        warp.record_work((before - left).into());
    }
    launch.count(executed);
    result.map(|()| left < budget)
}

fn run_group(
    warp: &mut Warp,
    block: &mut BlockState,
    launch: &Launch,
    (mut at, is_first): (usize, bool),
    left: &mut u32,
    executed: &mut u64,
) -> Result<(), Faulted> {
    let id = warp.groups[at].frame;
    let number = warp.frames.get(id).function;
    let function = &launch.module.functions[number as usize];
    let mut pc = warp.groups[at].pc;
    let mut lanes = warp.groups[at].lanes;
    let fault = |pc: Pc| {
        move |(lanes, kind): LaneFault| Faulted {
            lanes,
            function: number,
            pc,
            kind,
        }
    };
    // The instruction from which on the group may meet others.
    let mut meets = 0;
    loop {
        if pc >= meets {
            warp.groups[at].pc = pc;
            if warp.try_reconverge(&mut at, is_first) {
                return Ok(());
            }
            lanes = warp.groups[at].lanes;
            meets = warp.next_meeting(at);
        }
        if *left == 0 || pc == FUNCTION_END {
            warp.groups[at].pc = pc;
            if *left == 0 {
                warp.end_of_turn(at, &launch.module.functions);
            }
            if pc == FUNCTION_END {
                warp.ret(at, &launch.module, block);
            }
            return Ok(());
        }
        *left -= 1;
        let instr = &function.instrs[pc as usize];
        let frame = warp.frames.get_mut(id);
        let active = match instr.guard {
            None => lanes,
            Some(guard) => lanes & frame.pred(guard),
        };
        *executed += u64::from(active.count_ones());
        let ids = Ids {
            launch,
            index: block.index,
            processor: block.processor,
            warp: warp.number,
            threads: &warp.threads,
            place: (number, pc),
        };
        let mut counted = None;
        if let Some(costs) = &mut warp.costs
            && active != 0
        {
            let executed = Executed {
                op: &instr.op,
                site: (number, pc),
                frame: id,
                call: frame.call,
                lanes,
                active,
                addresses: global_addresses(&instr.op, function, frame, &ids),
            };
            costs.record(&executed);
            counted = Some((costs, executed));
        }
        let mut is_stuck = false;
        let mut is_data = active == 0 || compute(&instr.op, function, frame, active, &ids);
        if !is_data {
            let spaces = spaces_of(launch, &block.shared, &warp.local);
            let (mut polls, mut changed, mut acted, mut polled) = (false, false, 0, None);
            let mut effects = Effects {
                progress: &mut block.progress,
                polls_mapped_memory: &mut block.polls_mapped_memory,
                clocks: block.clocks.as_mut(),
                polls: &mut polls,
                changed: &mut changed,
                acted: &mut acted,
                polled: &mut polled,
            };
            is_data = access(
                &instr.op,
                function,
                frame,
                active,
                &spaces,
                &ids,
                &mut effects,
            )
            // The other lanes have finished it.
            .inspect_err(|_| warp.groups[at].pc = pc + 1)
            .map_err(fault(pc))?;
            if let Some((costs, executed)) = &mut counted {
                costs.note_stores(executed, acted);
            }
            block.polls |= polls;
            if (changed || polls) && warp.is_diverged() {
                warp.groups[at].pc = pc;
                if changed {
                    let is_its_own = matches!(&instr.op, Op::Store(store) if store.at.space == StateSpace::Frame);
                    warp.changed_memory(at, acted, is_its_own);
                } else if let Some(polled) = polled {
                    warp.record_poll(at, polled, &launch.module.functions);
                }
                if polls || acted != 0 {
                    let place = polled.map(|(place, _)| place);
                    warp.record_access(at, place, &launch.module.functions);
                    is_stuck = warp.has_waiting() && warp.no_group_progresses();
                }
            }
        }
        if let Some(lane) = warp.traced.filter(|&lane| (lanes >> lane) & 1 != 0) {
            let is_active = (active >> lane) & 1 != 0;
            trace(launch, warp.frames.get(id), (pc, lane), is_active);
        }
        if is_data {
            pc += 1;
            if is_stuck {
                warp.groups[at].pc = pc;
                return Ok(());
            }
            continue;
        }
        warp.groups[at].pc = pc;
        match control(warp, block, launch, at, active, instr).map_err(fault(pc))? {
            Flow::Next => pc += 1,
            Flow::Jumped(to) => {
                pc = to;
                meets = 0;
            }
            Flow::Changed => return Ok(()),
        }
    }
}

/// The memory that the threads of a warp can access.
fn spaces_of<'a>(
    launch: &'a Launch,
    shared: &'a PrivateMemory,
    local: &'a PrivateMemory,
) -> Spaces<'a> {
    Spaces {
        global: &launch.memory,
        shared,
        shared_bytes: launch.shared_bytes(),
        local,
        params: &launch.params,
    }
}

/// Prints the instruction at `pc` of the traced lane.
fn trace(launch: &Launch, frame: &Frame, (pc, lane): (Pc, usize), is_active: bool) {
    let Some(trace) = &launch.trace else {
        return;
    };
    let place = launch.place(frame.function, pc);
    let instr = &launch.module.functions[frame.function as usize].instrs[pc as usize];
    let result = match instr.op.result() {
        Some(d) if is_active => format!("  = {:#x}", frame.regs[d as usize][lane]),
        _ if is_active => String::new(),
        _ => "  (not executed)".to_owned(),
    };
    (trace.sink)(&format!(
        "{}:{}: {}{result}",
        place.part, place.line, place.text
    ));
}

/// Executes an arithmetic instruction; false for other instructions.
#[expect(
    clippy::too_many_lines,
    reason = "one arm for each kind of instruction"
)]
fn compute(op: &Op, function: &Function, frame: &mut Frame, active: Mask, ids: &Ids<'_>) -> bool {
    let mut t: Lanes = [0; LANES];
    match op {
        Op::Nop => {}
        Op::Un { f, d, a } => {
            f(&mut t, active, frame.src(function, *a));
            frame.set(*d, active, &t);
        }
        Op::Bin { f, d, a, b } => {
            f(
                &mut t,
                active,
                frame.src(function, *a),
                frame.src(function, *b),
            );
            frame.set(*d, active, &t);
        }
        Op::Tri { f, d, a, b, c } => {
            let (a, b) = (frame.src(function, *a), frame.src(function, *b));
            f(&mut t, active, a, b, frame.src(function, *c));
            frame.set(*d, active, &t);
        }
        Op::Quad { f, d, a, b, c, e } => {
            let (a, b) = (frame.src(function, *a), frame.src(function, *b));
            let (c, e) = (frame.src(function, *c), frame.src(function, *e));
            f(&mut t, active, a, b, c, e);
            frame.set(*d, active, &t);
        }
        Op::Carry {
            f,
            d,
            a,
            b,
            c,
            reads,
            writes,
        } => {
            let carry = if *reads { frame.carry } else { 0 };
            let (a, b) = (frame.src(function, *a), frame.src(function, *b));
            let out = f(&mut t, carry, a, b, frame.src(function, *c));
            frame.set(*d, active, &t);
            if *writes {
                frame.carry = (frame.carry & !active) | (out & active);
            }
        }
        Op::Convert { how, d, a } => {
            let a = frame.src(function, *a);
            for i in lanes_of(active) {
                t[i] = how.apply(a[i]);
            }
            frame.set(*d, active, &t);
        }
        Op::ConvertPair { how, d, a, b } => {
            let (a, b) = (frame.src(function, *a), frame.src(function, *b));
            for i in lanes_of(active) {
                t[i] = how.apply(a[i]) << 16 | how.apply(b[i]);
            }
            frame.set(*d, active, &t);
        }
        Op::SetPred {
            f,
            pair,
            p,
            q,
            a,
            b,
            with,
        } => {
            let (a, b) = (frame.src(function, *a), frame.src(function, *b));
            let holds = f(a, b);
            let other = if *pair {
                f(&upper(a), &upper(b))
            } else {
                !holds
            };
            let (holds, other) = (combine(frame, holds, *with), combine(frame, other, *with));
            if let Some(p) = p {
                frame.set_pred(*p, active, holds);
            }
            if let Some(q) = q {
                frame.set_pred(*q, active, other);
            }
        }
        Op::Set {
            f,
            pair,
            d,
            a,
            b,
            with,
            one,
        } => {
            let (a, b) = (frame.src(function, *a), frame.src(function, *b));
            let holds = combine(frame, f(a, b), *with);
            for (i, t) in t.iter_mut().enumerate() {
                *t = if (holds >> i) & 1 != 0 { *one } else { 0 };
            }
            if *pair {
                let holds = combine(frame, f(&upper(a), &upper(b)), *with);
                for i in lanes_of(holds) {
                    t[i] |= *one << 16;
                }
            }
            frame.set(*d, active, &t);
        }
        Op::Test { f, p, a } => {
            let holds = f(frame.src(function, *a));
            frame.set_pred(*p, active, holds);
        }
        Op::Select { d, a, b, p } => {
            let p = frame.pred(*p);
            let (a, b) = (frame.src(function, *a), frame.src(function, *b));
            for (i, t) in t.iter_mut().enumerate() {
                *t = if (p >> i) & 1 != 0 { a[i] } else { b[i] };
            }
            frame.set(*d, active, &t);
        }
        Op::SelectBySign {
            f,
            d,
            a,
            b,
            c,
            zero,
        } => {
            let p = f(frame.src(function, *c), frame.src(function, *zero));
            let (a, b) = (frame.src(function, *a), frame.src(function, *b));
            for (i, t) in t.iter_mut().enumerate() {
                *t = if (p >> i) & 1 != 0 { a[i] } else { b[i] };
            }
            frame.set(*d, active, &t);
        }
        Op::PredLogic { op, d, a, b } => {
            let (a, b) = (frame.pred(*a), frame.pred(*b));
            let value = match op {
                Logic::And => a & b,
                Logic::Or => a | b,
                Logic::Xor => a ^ b,
            };
            frame.set_pred(*d, active, value);
        }
        Op::PredMove { d, a } => {
            let a = frame.pred(*a);
            frame.set_pred(*d, active, a);
        }
        Op::Special { d, what } => {
            special(*what, ids, &mut t);
            frame.set(*d, active, &t);
        }
        Op::Unpack { ds, a, bits } => {
            let a = *frame.src(function, *a);
            for (part, &d) in ds.iter().enumerate() {
                for i in 0..LANES {
                    t[i] = (a[i] >> (part as u32 * bits)) & ((1 << bits) - 1);
                }
                frame.set(d, active, &t);
            }
        }
        Op::Pack { d, sources, bits } => {
            for (part, &source) in sources.iter().enumerate() {
                let a = frame.src(function, source);
                for i in 0..LANES {
                    t[i] |= (a[i] & ((1 << bits) - 1)) << (part as u32 * bits);
                }
            }
            frame.set(*d, active, &t);
        }
        Op::FrameAddress { d, offset } => {
            t = [u64::from(frame.base + offset); LANES];
            frame.set(*d, active, &t);
        }
        Op::ToGeneric { d, a, space } => {
            let a = frame.src(function, *a);
            for i in 0..LANES {
                t[i] = a[i].wrapping_add(window(*space));
            }
            frame.set(*d, active, &t);
        }
        Op::FromGeneric { d, a, space } => {
            let a = frame.src(function, *a);
            for i in 0..LANES {
                t[i] = a[i].wrapping_sub(window(*space));
            }
            frame.set(*d, active, &t);
        }
        Op::IsSpace { p, a, space } => {
            let a = frame.src(function, *a);
            let mut holds = 0;
            for (i, &a) in a.iter().enumerate() {
                holds |= Mask::from(is_in(a, *space)) << i;
            }
            frame.set_pred(*p, active, holds);
        }
        Op::ActiveMask { d } => {
            t = [u64::from(active); LANES];
            frame.set(*d, active, &t);
        }
        _ => return false,
    }
    true
}

/// Executes a memory instruction; false for other instructions.
fn access(
    op: &Op,
    function: &Function,
    frame: &mut Frame,
    active: Mask,
    spaces: &Spaces<'_>,
    ids: &Ids<'_>,
    effects: &mut Effects<'_>,
) -> Result<bool, LaneFault> {
    match op {
        Op::Load(op) => load(op, function, frame, active, spaces, ids, effects)?,
        Op::Store(op) => store(op, function, frame, active, spaces, ids, effects)?,
        Op::Atom(op) => atom(op, function, frame, active, spaces, ids, effects)?,
        Op::Fence { semantics, scope } => {
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            *effects.polls = true;
            if let Some(clocks) = &mut effects.clocks {
                clocks.fence(ids.warp, active, *semantics, *scope);
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The addresses of an access that may be to global memory.
fn global_addresses(op: &Op, function: &Function, frame: &Frame, ids: &Ids<'_>) -> Option<Lanes> {
    let at = match op {
        Op::Load(load) => &load.at,
        Op::Store(store) => &store.at,
        Op::Atom(atom) => &atom.at,
        Op::Async(op) => op.source()?.0,
        _ => return None,
    };
    let may_be_global = matches!(at.space, StateSpace::Generic | StateSpace::Global);
    may_be_global.then(|| addresses(at, function, frame, ids))
}

/// The upper halves of words.
fn upper(words: &Lanes) -> Lanes {
    words.map(|word| word >> 16)
}

fn combine(frame: &Frame, holds: Mask, with: Option<(Logic, PredSrc)>) -> Mask {
    match with {
        None => holds,
        Some((Logic::And, p)) => holds & frame.pred(p),
        Some((Logic::Or, p)) => holds | frame.pred(p),
        Some((Logic::Xor, p)) => holds ^ frame.pred(p),
    }
}

fn special(what: Special, ids: &Ids<'_>, t: &mut Lanes) {
    let launch = ids.launch;
    let mut all = |value: u64| *t = [value; LANES];
    match what {
        Special::Tid(axis) => {
            for (t, thread) in t.iter_mut().zip(ids.threads) {
                *t = u64::from(thread[axis]);
            }
        }
        Special::Ntid(axis) => all(u64::from(launch.block[axis])),
        Special::Ctaid(axis) => all(u64::from(ids.index[axis])),
        Special::Nctaid(axis) => all(u64::from(launch.grid[axis])),
        Special::LaneId => *t = std::array::from_fn(|i| i as u64),
        Special::WarpId => all(u64::from(ids.warp)),
        Special::Warps => all(64),
        Special::Processor => all(u64::from(ids.processor)),
        Special::Processors => all(u64::from(launch.processors)),
        Special::GridId => all(launch.number),
        Special::LanesEqual => *t = std::array::from_fn(|i| 1 << i),
        Special::LanesLess => *t = std::array::from_fn(|i| (1 << i) - 1),
        Special::LanesLessEqual => *t = std::array::from_fn(|i| (1 << (i + 1)) - 1),
        Special::LanesGreater => *t = std::array::from_fn(|i| 0xffff_ffff & !((1 << (i + 1)) - 1)),
        Special::LanesGreaterEqual => *t = std::array::from_fn(|i| 0xffff_ffff & !((1 << i) - 1)),
        Special::Clock => all(launch.clock() & 0xffff_ffff),
        Special::ClockHigh => all(launch.clock() >> 32),
        Special::Clock64 => all(launch.clock()),
        Special::Timer => all(launch.timer()),
        Special::TimerLow => all(launch.timer() & 0xffff_ffff),
        Special::TimerHigh => all(launch.timer() >> 32),
        Special::DynamicShared => all(u64::from(launch.dynamic_shared)),
        Special::TotalShared => all(u64::from(launch.shared_bytes())),
        Special::Zero => all(0),
        Special::One => all(1),
        Special::WorkspaceHigh => all(launch.workspace >> 32),
        Special::WorkspaceLow => all(launch.workspace & 0xffff_ffff),
    }
}

/// Executes a control instruction.
fn control(
    warp: &mut Warp,
    block: &mut BlockState,
    launch: &Launch,
    at: usize,
    active: Mask,
    instr: &Instr,
) -> Result<Flow, LaneFault> {
    let group = warp.groups[at];
    let frame = warp.frames.get(group.frame);
    let function = &launch.module.functions[frame.function as usize];
    let meets = function.meets[group.pc as usize];
    let first = active.trailing_zeros() as usize;
    // A part of independent lanes diverges here.
    let is_part = active != group.lanes;
    match &instr.op {
        Op::Branch { to } => {
            if !is_part {
                return Ok(Flow::Jumped(*to));
            }
            warp.diverge(at, active, *to, group.pc + 1, meets);
            return Ok(Flow::Changed);
        }
        Op::BranchIndexed { index, to } => {
            let index = *frame.src(function, *index);
            let mut faults = Faults::default();
            for lane in lanes_of(active).filter(|&lane| index[lane] >= to.len() as u64) {
                let (index, targets) = (index[lane] as u32, to.len());
                faults.add(lane, FaultKind::BadBranch { index, targets });
            }
            faults.result()?;
            let same = lanes_of(active).filter(|&lane| index[lane] == index[first]);
            let taken = same.fold(0, |mask, lane| mask | 1 << lane);
            let to = to[index[first] as usize];
            if taken == group.lanes {
                return Ok(Flow::Jumped(to));
            }
            // Those that jump return to this instruction.
            warp.diverge(at, taken, to, group.pc, meets);
            return Ok(Flow::Changed);
        }
        Op::Sleep { nanoseconds } => {
            let time = frame.src(function, *nanoseconds)[first].min(1_000_000);
            warp.sleep(at, time, &launch.module.functions);
            warp.groups[at].pc += 1;
            warp.groups[at].state = State::Sleeping {
                until: Instant::now() + Duration::from_nanos(time),
            };
            return Ok(Flow::Changed);
        }
        Op::Async(op) => {
            asynchronous::execute(warp, block, launch, at, active, op)?;
            return Ok(Flow::Changed);
        }
        Op::Matrix(op) => {
            return matrix::execute(warp, block, launch, at, active, op)
                .map(|done| if done { Flow::Next } else { Flow::Changed });
        }
        Op::Trap => return Err((active, FaultKind::Trap)),
        Op::Exit => {
            asynchronous::finish(warp, block, launch, at, active)?;
            exit(warp, block, at, active);
            return Ok(Flow::Changed);
        }
        // No group waits for lanes that return from the kernel.
        Op::Return if frame.caller.is_none() => {
            asynchronous::finish(warp, block, launch, at, active)?;
            exit(warp, block, at, active);
            return Ok(Flow::Changed);
        }
        _ => {}
    }
    if is_part && (warp.model() == Model::Independent || matches!(instr.op, Op::Return)) {
        let to = match (&instr.op, warp.model()) {
            (Op::Return, Model::LockStep) => FUNCTION_END,
            _ => group.pc,
        };
        warp.diverge(at, active, to, group.pc + 1, meets);
        return Ok(Flow::Changed);
    }
    match &instr.op {
        Op::Return => {
            warp.ret(at, &launch.module, block);
            join(warp, block);
            Ok(Flow::Changed)
        }
        Op::Call(call) => {
            let (at, lanes, number) = match &call.callee {
                Callee::Function(number) => (at, active, *number),
                Callee::System(what) => {
                    let base = frame.base;
                    let spaces = spaces_of(launch, &block.shared, &warp.local);
                    for lane in lanes_of(active) {
                        system::call(*what, call, lane, base, &spaces, launch)
                            .map_err(|kind| (1 << lane, kind))?;
                    }
                    return Ok(Flow::Next);
                }
                Callee::Address(source) => {
                    let addresses = *frame.src(function, *source);
                    let same = lanes_of(active).filter(|&i| addresses[i] == addresses[first]);
                    let taken = same.fold(0, |mask, lane| mask | 1 << lane);
                    let number =
                        callee(launch, addresses[first], call).map_err(|kind| (taken, kind))?;
                    if taken == active {
                        (at, active, number)
                    } else {
                        // Those that call another function stay at this instruction. The
                        // others must leave it at once: at one place they are one group.
                        warp.diverge(at, taken, group.pc, group.pc, meets);
                        (warp.groups.len() - 1, taken, number)
                    }
                }
            };
            warp.call(at, lanes, &launch.module, number, call)
                .map_err(|kind| (lanes, kind))?;
            Ok(Flow::Changed)
        }
        Op::Barrier(op) => {
            let live = warp.live();
            if warp.model() == Model::LockStep && active != live {
                let members = live;
                return Err((active, FaultKind::NotTogether { members, active }));
            }
            let value = |src: Src| frame.src(function, src)[first];
            let number = value(op.number);
            let count = op.count.map(value);
            let holds = match op.kind {
                BarrierKind::Sync | BarrierKind::Arrive => 0,
                BarrierKind::Count { p, .. }
                | BarrierKind::All { p, .. }
                | BarrierKind::Any { p, .. } => frame.pred(p),
            };
            let (number, phase) = block
                .arrive((warp.number, active), number, count, op.kind, holds)
                .map_err(|kind| (active, kind))?;
            if op.kind == BarrierKind::Arrive {
                return Ok(Flow::Next);
            }
            warp.groups[at].state = State::AtBarrier { number, phase };
            Ok(Flow::Changed)
        }
        Op::Cluster(op) => cluster::execute(warp, block, launch, at, active, op)
            .map(|done| if done { Flow::Next } else { Flow::Changed }),
        Op::Collective(op) => collective(warp, block, at, active, op)
            .map(|done| if done { Flow::Next } else { Flow::Changed }),
        _ => Ok(Flow::Next),
    }
}

/// Lanes of a group end, and the others continue.
fn exit(warp: &mut Warp, block: &mut BlockState, at: usize, lanes: Mask) {
    warp.groups[at].pc += 1;
    warp.exit(lanes, block);
    join(warp, block);
}

/// The function at an address, if it has that signature.
fn callee(launch: &Launch, address: u64, call: &crate::code::op::Call) -> Result<u32, FaultKind> {
    let bad = |what| FaultKind::BadCall { address, what };
    let number = launch
        .module
        .function_at(address)
        .ok_or_else(|| bad("no function of the module"))?;
    let function = &launch.module.functions[number as usize];
    let sizes = |slots: &[crate::code::op::Slot]| slots.iter().map(|s| s.bytes).collect::<Vec<_>>();
    if function.is_kernel {
        return Err(bad("a kernel"));
    }
    if sizes(&function.params) != sizes(&call.arguments)
        || sizes(&function.results) != sizes(&call.results)
    {
        return Err(bad("a function with other parameters or results"));
    }
    Ok(number)
}
