//! Loads, stores and atomic operations.

use super::atomic::combine;
use super::fault::{Faults, LaneFault};
use super::frame::Frame;
use super::launch::Launch;
use super::memory_ref::MemoryRef;
use super::space::{Access, Spaces, is_local};
use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::check::{BlockClocks, Operation, Outcome};
use crate::code::Function;
use crate::code::op::{Address, Atom, AtomOp, Load, Pc, Semantics, StateSpace, Store};
use crate::error::FaultKind;
use crate::memory::{self, AccessKind};

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

impl Ids<'_> {
    /// Whether a base address is relative to the frame.
    pub(super) fn address(&self, frame: &Frame, at: &Address) -> i64 {
        match at.space {
            StateSpace::Frame => at.offset + i64::from(frame.base),
            _ => at.offset,
        }
    }
}

pub(super) fn addresses(at: &Address, function: &Function, frame: &Frame, ids: &Ids<'_>) -> Lanes {
    let offset = ids.address(frame, at);
    match at.base {
        None => [offset as u64; LANES],
        Some(base) => {
            let base = frame.src(function, base);
            std::array::from_fn(|i| base[i].wrapping_add_signed(offset))
        }
    }
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
        let site = (ids.launch.module_id(), function, pc);
        let lanes = (ids.warp, self.lanes);
        clocks
            .access(lanes, &self.operation, site, perform)
            .map_err(|report| (self.lanes, FaultKind::Race(report.text)))
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
    let at = addresses(&op.at, function, frame, ids);
    // No thread waits for its own local memory.
    *effects.polls |= op.semantics != Semantics::Weak
        && lanes_of(active).any(|lane| !is_local(op.at.space, at[lane]));
    let count = op.ds.len() as u32;
    let access = Access {
        kind: AccessKind::Load,
        bytes: op.bytes * count,
    };
    let shift = 64 - op.bytes * 8;
    let mut places = [None; LANES];
    let mut faults = Faults::default();
    for lane in lanes_of(active) {
        let found = spaces.find(lane, op.at.space, at[lane], access);
        let Some(place) = faults.unless(lane, found) else {
            continue;
        };
        places[lane] = Some(place);
        *effects.polls_mapped_memory |= memory::is_mapped(at[lane]);
    }
    for (part, &d) in op.ds.iter().enumerate() {
        let mut t: Lanes = [0; LANES];
        // Lanes that load from one address get one value, as on hardware: code that a compiler
        // runs on all lanes as one thread diverges otherwise if another thread stores meanwhile.
        let mut last = None;
        for lane in lanes_of(active) {
            let Some(place) = places[lane] else { continue };
            let by = part as u32 * op.bytes;
            let load = || offset(place, by).load(op.bytes, op.semantics);
            let mut value = match (&mut effects.clocks, place) {
                (Some(clocks), MemoryRef::Common(_)) => {
                    let lanes = same(lane, active, &at, None);
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
                (None, MemoryRef::Common(_)) => match last {
                    Some((address, value)) if address == at[lane] => value,
                    _ => {
                        let value = load();
                        last = Some((at[lane], value));
                        value
                    }
                },
                _ => load(),
            };
            if op.extend > 0 {
                value = ((value << shift) as i64 >> shift) as u64;
                if op.extend < 64 {
                    value &= (1 << op.extend) - 1;
                }
            }
            t[lane] = value;
        }
        if *effects.polls && part == 0 {
            *effects.polled = Some((at[first(active)], t[first(active)]));
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
    let at = addresses(&op.at, function, frame, ids);
    let access = Access {
        kind: AccessKind::Store,
        bytes: op.bytes * op.sources.len() as u32,
    };
    let mut faults = Faults::default();
    // Equal stores of all lanes to one address are one store, as on hardware. Device code that
    // publishes in all lanes of a warp, such as GCC's, relies on it. The checker handles this
    // itself, and checks each lane's store.
    let last = (LANES - 1) - active.leading_zeros() as usize;
    let is_one = effects.clocks.is_none() && lanes_of(active).all(|lane| at[lane] == at[last]);
    for lane in lanes_of(active) {
        let found = spaces.find(lane, op.at.space, at[lane], access);
        let Some(place) = faults.unless(lane, found) else {
            continue;
        };
        if is_one && lane != last && matches!(place, MemoryRef::Common(_)) {
            continue;
        }
        for (part, &source) in op.sources.iter().enumerate() {
            let by = part as u32 * op.bytes;
            let values = frame.src(function, source);
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
    let at = addresses(&op.at, function, frame, ids);
    let access = Access {
        kind: AccessKind::Atomic,
        bytes: op.bytes,
    };
    let mut t: Lanes = [0; LANES];
    let mut faults = Faults::default();
    for lane in lanes_of(active) {
        let found = spaces.find(lane, op.at.space, at[lane], access);
        let Some(place) = faults.unless(lane, found) else {
            continue;
        };
        let b = frame.src(function, op.b)[lane];
        // Subnormals are flushed in global memory, not in shared memory.
        let ftz = matches!(place, MemoryRef::Common(_));
        let update = || {
            let mut left = 0;
            let seen = place.update(op.bytes, |old| {
                left = match (op.op, op.c) {
                    (AtomOp::CompareAndSwap, Some(_)) if old != b => old,
                    (AtomOp::CompareAndSwap, Some(c)) => frame.src(function, c)[lane],
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
