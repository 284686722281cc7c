//! Loads, stores and atomic operations.

use device_arena::AccessKind;
use race_check::{BlockClocks, Operation, Outcome};

use super::atomic::combine;
use super::fault::{Faults, LaneFault};
use super::frame::Frame;
use super::launch::Launch;
use super::memory_ref::MemoryRef;
use super::space::{Access, Spaces, is_local};
use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::check;
use crate::code::Function;
use crate::code::op::{Address, Atom, AtomOp, Load, Pc, Semantics, StateSpace, Store};
use crate::error::FaultKind;
use crate::memory;

/// The indices of threads, for special registers and reports.
pub(super) struct Ids<'a> {
    pub(super) launch: &'a Launch,
    pub(super) index: [u32; 3],
    pub(super) processor: u32,
    pub(super) warp: u32,
    pub(super) threads: &'a [[u32; 3]; LANES],
    /// Function and instruction.
    pub(super) place: (u32, Pc),
}

/// The effects of threads' accesses that a block needs.
pub(super) struct Effects<'a> {
    pub(super) progress: &'a mut bool,
    pub(super) polls_mapped_memory: &'a mut bool,
    pub(super) clocks: Option<&'a mut BlockClocks>,
    pub(super) polls: &'a mut bool,
    /// Whether memory has changed.
    pub(super) changed: &'a mut bool,
    /// Lanes whose atomic operation had an effect.
    pub(super) acted: &'a mut Mask,
    /// The address and the value of a poll.
    pub(super) polled: &'a mut Option<(u64, u64)>,
}

/// The address of a lane's access.
#[inline]
fn address(at: &Address, frame: &Frame, lane: usize) -> u64 {
    let offset = match at.space {
        StateSpace::Frame => at.offset.wrapping_add(frame.base.into()),
        _ => at.offset,
    };
    match at.base {
        None => offset as u64,
        Some(base) => frame.value(base, lane).wrapping_add_signed(offset),
    }
}

pub(super) fn addresses(at: &Address, frame: &Frame) -> Lanes {
    std::array::from_fn(|lane| address(at, frame, lane))
}

fn offset(place: MemoryRef, by: u32) -> MemoryRef {
    match place {
        MemoryRef::Common(at) => MemoryRef::Common(at.wrapping_add(by as usize)),
        MemoryRef::Own(at) => MemoryRef::Own(at.wrapping_add(by as usize)),
    }
}

/// Lanes with the same access as `lane` in this instruction; `value` is the stored value.
fn same(lane: usize, active: Mask, at: &Lanes, value: Option<&Lanes>) -> Mask {
    let is_same = |&other: &usize| {
        at[other] == at[lane] && value.is_none_or(|value| value[other] == value[lane])
    };
    let lanes = lanes_of(active).filter(is_same);
    lanes.fold(0, |mask, other| mask | 1 << other)
}

fn first(lanes: Mask) -> usize {
    lanes.trailing_zeros() as usize
}

fn last(lanes: Mask) -> usize {
    (LANES - 1) - lanes.leading_zeros() as usize
}

/// An access of some lanes, for the checker.
struct Checked {
    lanes: Mask,
    operation: Operation,
}

impl Checked {
    /// Performs it, checked.
    fn run(
        &self,
        ids: &Ids<'_>,
        clocks: &mut BlockClocks,
        perform: impl FnOnce() -> Outcome,
    ) -> Result<u64, LaneFault> {
        let (function, pc) = ids.place;
        let site = check::site(ids.launch.module_id(), function, pc);
        let lanes = (ids.warp, self.lanes);
        clocks
            .access(lanes, &self.operation, site, perform)
            .map_err(|report| (self.lanes, FaultKind::Race(report.text)))
    }
}

impl Load {
    fn access(&self) -> Access {
        Access::load(self.bytes * self.ds.len() as u32)
    }
}

impl Store {
    fn access(&self) -> Access {
        Access::store(self.bytes * self.sources.len() as u32)
    }
}

pub(super) fn load(
    op: &Load,
    function: &Function,
    frame: &mut Frame,
    active: Mask,
    spaces: &Spaces<'_>,
    ids: &Ids<'_>,
    effects: &mut Effects<'_>,
) -> Result<(), LaneFault> {
    if op.semantics == Semantics::Weak && effects.clocks.is_none() {
        return load_lanes(op, frame, active, spaces, effects.polls_mapped_memory);
    }
    let at = addresses(&op.at, frame);
    // No thread waits for its own local memory.
    *effects.polls |= op.semantics != Semantics::Weak
        && lanes_of(active).any(|lane| !is_local(op.at.space, at[lane]));
    let result = match effects.clocks {
        None => load_lanes(op, frame, active, spaces, effects.polls_mapped_memory),
        Some(_) => load_checked(op, function, frame, (active, &at), spaces, ids, effects),
    };
    let lane = first(active);
    if *effects.polls && result.is_ok() {
        *effects.polled = Some((at[lane], frame.reg(op.ds[0])[lane]));
    }
    result
}

/// Loads in one lane. Returns whether the access is allowed; otherwise nothing has happened.
#[inline]
pub(super) fn load_lane(
    op: &Load,
    frame: &mut Frame,
    lane: usize,
    spaces: &Spaces<'_>,
    polls_mapped_memory: &mut bool,
) -> bool {
    let at = address(&op.at, frame, lane);
    let Some(place) = spaces.locate(lane, op.at.space, at, op.access()) else {
        return false;
    };
    *polls_mapped_memory |= memory::is_mapped(at);
    for (part, &d) in op.ds.iter().enumerate() {
        let place = offset(place, part as u32 * op.bytes);
        let value = extended(op, place.load(op.bytes, op.semantics));
        frame.set_lane(d, lane, value);
    }
    true
}

/// Stores in one lane. Returns whether that changed memory; `None` if the access is not allowed.
#[inline]
pub(super) fn store_lane(
    op: &Store,
    frame: &Frame,
    lane: usize,
    spaces: &Spaces<'_>,
) -> Option<bool> {
    let at = address(&op.at, frame, lane);
    let place = spaces.locate(lane, op.at.space, at, op.access())?;
    let mut changed = false;
    for (part, &source) in op.sources.iter().enumerate() {
        let value = frame.value(source, lane) & (u64::MAX >> (64 - op.bytes * 8));
        let place = offset(place, part as u32 * op.bytes);
        changed |= place.store(op.bytes, value, op.semantics);
    }
    Some(changed)
}

/// The value that a register gets from a loaded word.
#[inline]
fn extended(op: &Load, value: u64) -> u64 {
    if op.extend == 0 {
        return value;
    }
    let shift = 64 - op.bytes * 8;
    let value = ((value << shift) as i64 >> shift) as u64;
    value & (u64::MAX >> (64 - op.extend))
}

/// Loads that the checker does not follow.
pub(super) fn load_lanes(
    op: &Load,
    frame: &mut Frame,
    active: Mask,
    spaces: &Spaces<'_>,
    polls_mapped_memory: &mut bool,
) -> Result<(), LaneFault> {
    let mut faults = Faults::default();
    // Lanes that load from one address get one value, as on hardware: code that a compiler
    // runs on all lanes as one thread diverges otherwise if another thread stores meanwhile.
    let mut last = None;
    for lane in lanes_of(active) {
        let at = address(&op.at, frame, lane);
        if let Some((address, other)) = last
            && address == at
            && !is_local(op.at.space, at)
        {
            for &d in &op.ds {
                let value = frame.reg(d)[other];
                frame.set_lane(d, lane, value);
            }
        } else if load_lane(op, frame, lane, spaces, polls_mapped_memory) {
            last = Some((at, lane));
        } else {
            faults.add(lane, spaces.fault(op.at.space, at, op.access()));
        }
    }
    faults.result()
}

/// Loads that the checker follows.
fn load_checked(
    op: &Load,
    function: &Function,
    frame: &mut Frame,
    (active, at): (Mask, &Lanes),
    spaces: &Spaces<'_>,
    ids: &Ids<'_>,
    effects: &mut Effects<'_>,
) -> Result<(), LaneFault> {
    let access = op.access();
    let mut places = [None; LANES];
    let mut faults = Faults::default();
    for lane in lanes_of(active) {
        let found = spaces.find(lane, op.at.space, at[lane], access);
        places[lane] = faults.unless(lane, found);
        *effects.polls_mapped_memory |= places[lane].is_some() && memory::is_mapped(at[lane]);
    }
    for (part, &d) in op.ds.iter().enumerate() {
        let mut t: Lanes = [0; LANES];
        for lane in lanes_of(active) {
            let Some(place) = places[lane] else { continue };
            let by = part as u32 * op.bytes;
            let load = || offset(place, by).load(op.bytes, op.semantics);
            let value = match (&mut effects.clocks, place) {
                (Some(clocks), MemoryRef::Common(_)) => {
                    let lanes = same(lane, active, at, None);
                    if first(lanes) != lane {
                        t[lane] = t[first(lanes)];
                        continue;
                    }
                    let checked = Checked {
                        lanes,
                        operation: Operation {
                            kind: AccessKind::Load,
                            address: at[lane] + u64::from(by),
                            bytes: op.bytes,
                            semantics: op.semantics,
                            scope: op.scope,
                            is_old: function.is_old,
                        },
                    };
                    checked.run(ids, clocks, || {
                        let (seen, wrote) = (load(), false);
                        Outcome {
                            seen,
                            left: seen,
                            wrote,
                        }
                    })?
                }
                _ => load(),
            };
            t[lane] = extended(op, value);
        }
        frame.set(d, active, &t);
    }
    faults.result()
}

pub(super) fn store(
    op: &Store,
    function: &Function,
    frame: &mut Frame,
    active: Mask,
    spaces: &Spaces<'_>,
    ids: &Ids<'_>,
    effects: &mut Effects<'_>,
) -> Result<(), LaneFault> {
    if effects.clocks.is_some() {
        return store_checked(op, function, frame, active, spaces, ids, effects);
    }
    let (changed, result) = store_lanes(op, frame, active, spaces);
    *effects.changed |= changed;
    *effects.progress |= changed && op.at.space != StateSpace::Frame;
    result
}

/// Stores that the checker does not follow. Returns whether they changed memory, too.
pub(super) fn store_lanes(
    op: &Store,
    frame: &Frame,
    active: Mask,
    spaces: &Spaces<'_>,
) -> (bool, Result<(), LaneFault>) {
    // Equal stores of all lanes to one address are one store, as on hardware. Device code that
    // publishes in all lanes of a warp, such as GCC's, relies on it.
    let last = last(active);
    let to = address(&op.at, frame, last);
    let is_one = !is_local(op.at.space, to)
        && lanes_of(active).all(|lane| address(&op.at, frame, lane) == to);
    if is_one && let Some(changed) = store_lane(op, frame, last, spaces) {
        return (changed, Ok(()));
    }
    let mut changed = false;
    let mut faults = Faults::default();
    for lane in lanes_of(active) {
        match store_lane(op, frame, lane, spaces) {
            Some(has_changed) => changed |= has_changed,
            None => {
                let at = address(&op.at, frame, lane);
                faults.add(lane, spaces.fault(op.at.space, at, op.access()));
            }
        }
    }
    (changed, faults.result())
}

/// Stores that the checker follows, lane by lane.
fn store_checked(
    op: &Store,
    function: &Function,
    frame: &mut Frame,
    active: Mask,
    spaces: &Spaces<'_>,
    ids: &Ids<'_>,
    effects: &mut Effects<'_>,
) -> Result<(), LaneFault> {
    let at = addresses(&op.at, frame);
    let access = op.access();
    let mut faults = Faults::default();
    for lane in lanes_of(active) {
        let found = spaces.find(lane, op.at.space, at[lane], access);
        let Some(place) = faults.unless(lane, found) else {
            continue;
        };
        for (part, &source) in op.sources.iter().enumerate() {
            let by = part as u32 * op.bytes;
            let values = frame.src(source);
            let place = offset(place, by);
            let left = values[lane] & (u64::MAX >> (64 - op.bytes * 8));
            let changed = match (&mut effects.clocks, place) {
                (Some(clocks), MemoryRef::Common(_)) => {
                    let lanes = same(lane, active, &at, Some(values));
                    if first(lanes) != lane {
                        continue;
                    }
                    let checked = Checked {
                        lanes,
                        operation: Operation {
                            kind: AccessKind::Store,
                            address: at[lane] + u64::from(by),
                            bytes: op.bytes,
                            semantics: op.semantics,
                            scope: op.scope,
                            is_old: function.is_old,
                        },
                    };
                    let seen = checked.run(ids, clocks, || {
                        let seen = place.load(op.bytes, Semantics::Relaxed);
                        place.store(op.bytes, left, op.semantics);
                        Outcome {
                            seen,
                            left,
                            wrote: true,
                        }
                    })?;
                    seen != left
                }
                _ => place.store(op.bytes, left, op.semantics),
            };
            *effects.changed |= changed;
            *effects.progress |= changed && op.at.space != StateSpace::Frame;
        }
    }
    faults.result()
}

pub(super) fn atom(
    op: &Atom,
    function: &Function,
    frame: &mut Frame,
    active: Mask,
    spaces: &Spaces<'_>,
    ids: &Ids<'_>,
    effects: &mut Effects<'_>,
) -> Result<(), LaneFault> {
    let at = addresses(&op.at, frame);
    let access = Access::atomic(op.bytes);
    let mut t: Lanes = [0; LANES];
    let mut faults = Faults::default();
    for lane in lanes_of(active) {
        let found = spaces.find(lane, op.at.space, at[lane], access);
        let Some(place) = faults.unless(lane, found) else {
            continue;
        };
        let b = frame.src(op.b)[lane];
        // Subnormals are flushed in global memory, not in shared memory.
        let ftz = matches!(place, MemoryRef::Common(_));
        let update = || {
            let mut left = 0;
            let seen = place.update(op.bytes, |old| {
                left = match (op.op, op.c) {
                    (AtomOp::CompareAndSwap, Some(_)) if old != b => old,
                    (AtomOp::CompareAndSwap, Some(c)) => frame.src(c)[lane],
                    _ => combine(op.op, op.bytes, old, b, ftz),
                };
                left
            });
            let wrote = op.op != AtomOp::CompareAndSwap || seen == b;
            Outcome { seen, left, wrote }
        };
        let mut changed = false;
        let mut perform = || {
            let outcome = update();
            changed = outcome.seen != outcome.left;
            outcome
        };
        let old = match (&mut effects.clocks, place) {
            (Some(clocks), MemoryRef::Common(_)) => {
                let checked = Checked {
                    lanes: 1 << lane,
                    operation: Operation {
                        kind: AccessKind::Atomic,
                        address: at[lane],
                        bytes: op.bytes,
                        semantics: op.semantics,
                        scope: op.scope,
                        is_old: function.is_old,
                    },
                };
                checked.run(ids, clocks, perform)?
            }
            _ => perform().seen,
        };
        *effects.changed |= changed;
        *effects.acted |= Mask::from(changed) << lane;
        *effects.progress |= changed;
        *effects.polls |= !changed;
        t[lane] = old;
        if !changed {
            *effects.polled = Some((at[lane], old));
        }
    }
    if let Some(d) = op.d {
        frame.set(d, active, &t);
    }
    faults.result()
}
