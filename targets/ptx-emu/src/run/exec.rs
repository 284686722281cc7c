//! Executing instructions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::access::{Effects, Ids, addresses, atom, load, store};
use super::asynchronous;
use super::block_state::BlockState;
use super::cluster;
use super::compute::compute;
use super::costs::Executed;
use super::fast_path::FastPath;
use super::fault::{Faulted, Faults, LaneFault};
use super::frame::Frame;
use super::group::State;
use super::launch::Launch;
use super::matrix;
use super::rendezvous::{collective, join};
use super::space::Spaces;
use super::system;
use super::warp::Warp;
use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::code::Function;
use crate::code::op::{BarrierKind, Callee, FUNCTION_END, Instr, Op, Pc, Src, StateSpace};
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
    let threads = Arc::clone(&warp.threads);
    let is_observed = warp.costs.is_some() || warp.traced.is_some() || block.clocks.is_some();
    let mut left = budget;
    let mut executed = 0u64;
    let mut result = Ok(());
    while left > 0 && result.is_ok() {
        let Some(chosen) = warp.choose() else {
            break;
        };
        let before = left;
        let run_group = if is_observed {
            run_group::<true>
        } else {
            run_group::<false>
        };
        result = run_group(
            warp,
            block,
            (&launch, &threads),
            chosen,
            &mut left,
            &mut executed,
        );
        warp.record_work((before - left).into());
    }
    launch.progress.count(executed);
    result.map(|()| left < budget)
}

/// Executes instructions of a group, until another one may run. Only instructions of an observed group
/// are counted, traced or checked.
fn run_group<const OBSERVED: bool>(
    warp: &mut Warp,
    block: &mut BlockState,
    (launch, threads): (&Launch, &[[u32; 3]; LANES]),
    (mut at, mut is_first): (usize, bool),
    left: &mut u32,
    executed: &mut u64,
) -> Result<(), Faulted> {
    'call: loop {
        let id = warp.groups[at].frame;
        let number = warp.frames.get(id).function;
        let function = &launch.module.functions[number as usize];
        let mut pc = warp.groups[at].pc;
        let mut lanes = warp.groups[at].lanes;
        let mut count = lanes.count_ones();
        let mut ids = Ids {
            launch,
            index: block.index,
            processor: block.processor,
            warp: warp.number,
            threads,
            place: (number, pc),
        };
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
        let mut may_meet = true;
        loop {
            if pc >= meets {
                warp.groups[at].pc = pc;
                if warp.try_reconverge(&mut at, is_first) {
                    return Ok(());
                }
                lanes = warp.groups[at].lanes;
                count = lanes.count_ones();
                meets = warp.next_meeting(at);
                may_meet = warp.may_meet_after_jumps();
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
            if !OBSERVED {
                let records_stores = warp.is_diverged();
                let fast_path = FastPath {
                    functions: &launch.module.functions,
                    frame: warp.frames.get_mut(id),
                    lanes,
                    count,
                    meets,
                    may_meet_after_jumps: may_meet,
                    records_stores,
                    spaces: Spaces::of(launch, &block.shared, &warp.local),
                    ids: &ids,
                    progress: &mut block.progress,
                    polls_mapped_memory: &mut block.polls_mapped_memory,
                };
                let advance = fast_path.run(pc, left);
                *executed += advance.executed;
                if let Some(lanes) = advance.fault {
                    // The other lanes have finished it.
                    warp.groups[at].pc = advance.pc + 1;
                    return Err(fault(advance.pc)(lanes));
                }
                let has_moved = advance.pc != pc;
                pc = advance.pc;
                if *left == 0 || (has_moved && pc >= meets) {
                    continue;
                }
            }
            *left -= 1;
            let instr = &function.instrs[pc as usize];
            let frame = warp.frames.get_mut(id);
            let active = match instr.guard {
                None => lanes,
                Some(guard) => lanes & frame.pred(guard),
            };
            *executed += u64::from(if active == lanes {
                count
            } else {
                active.count_ones()
            });
            ids.place.1 = pc;
            let mut counted = None;
            if OBSERVED
                && let Some(costs) = &mut warp.costs
                && active != 0
            {
                let executed = Executed {
                    op: &instr.op,
                    site: ids.place,
                    frame: id,
                    call: frame.call,
                    lanes,
                    active,
                    addresses: global_addresses(&instr.op, frame),
                };
                costs.record(&executed);
                counted = Some((costs, executed));
            }
            let mut is_stuck = false;
            let mut is_data = active == 0
                // SAFETY: the operation is one of the frame's function.
                || unsafe { compute::<false>(&instr.op, frame, active, &ids) };
            if !is_data {
                let spaces = Spaces::of(launch, &block.shared, &warp.local);
                let (mut polls, mut changed, mut acted, mut polled) = (false, false, 0, None);
                let mut effects = Effects {
                    progress: &mut block.progress,
                    polls_mapped_memory: &mut block.polls_mapped_memory,
                    clocks: if OBSERVED {
                        block.clocks.as_mut()
                    } else {
                        None
                    },
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
            if OBSERVED && let Some(lane) = warp.traced.filter(|&lane| (lanes >> lane) & 1 != 0) {
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
            if let Op::Branch { to } = instr.op
                && active == lanes
            {
                pc = to;
                if may_meet {
                    meets = 0;
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
                Flow::Changed if warp.has_one_ready_group() => {
                    (at, is_first) = (0, true);
                    continue 'call;
                }
                Flow::Changed => return Ok(()),
            }
        }
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
        Some(d) if is_active => format!("  = {:#x}", frame.reg(d)[lane]),
        _ if is_active => String::new(),
        _ => "  (not executed)".to_owned(),
    };
    (trace.sink)(&format!(
        "{}:{}: {}{result}",
        place.part, place.line, place.text
    ));
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
fn global_addresses(op: &Op, frame: &Frame) -> Option<Lanes> {
    let at = match op {
        Op::Load(load) => &load.at,
        Op::Store(store) => &store.at,
        Op::Atom(atom) => &atom.at,
        Op::Async(op) => op.source()?.0,
        _ => return None,
    };
    let may_be_global = matches!(at.space, StateSpace::Generic | StateSpace::Global);
    may_be_global.then(|| addresses(at, frame))
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
            warp.diverge(at, active, *to, group.pc + 1, meets);
            return Ok(Flow::Changed);
        }
        Op::BranchIndexed { index, to } => {
            let index = *frame.src(*index);
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
            let time = frame.src(*nanoseconds)[first].min(1_000_000);
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
                    let spaces = Spaces::of(launch, &block.shared, &warp.local);
                    for lane in lanes_of(active) {
                        system::call(*what, call, lane, base, &spaces, launch)
                            .map_err(|kind| (1 << lane, kind))?;
                    }
                    return Ok(Flow::Next);
                }
                Callee::Address(source) => {
                    let addresses = *frame.src(*source);
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
            let value = |src: Src| frame.src(src)[first];
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
        Op::Cluster(op) => cluster::execute(warp, block, at, active, op)
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
