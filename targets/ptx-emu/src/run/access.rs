//! Loads, stores and atomic operations.

use super::atomic::combine;
use super::exec::{Faults, Ids, LaneFault, Notes};
use super::frame::Frame;
use super::space::{Access, Place, Spaces};
use crate::alu::{LANES, Lanes, Mask, lanes_of};
use crate::check::{Kind, Operation};
use crate::code::Function;
use crate::code::op::{Address, Atom, AtomOp, Load, Scope, Semantics, Store};
use crate::error::FaultKind;
use crate::memory;

fn addresses(at: &Address, function: &Function, frame: &Frame, ids: &Ids<'_>) -> Lanes {
    let offset = ids.address(frame, at);
    match at.base {
        None => [offset as u64; LANES],
        Some(base) => {
            let base = frame.src(function, base);
            std::array::from_fn(|i| base[i].wrapping_add_signed(offset))
        }
    }
}

fn offset(place: Place, by: u32) -> Place {
    match place {
        Place::Common(at) => Place::Common(at.wrapping_add(by as usize)),
        Place::Own(at) => Place::Own(at.wrapping_add(by as usize)),
    }
}

/// Tells the checker; its verdict is a fault.
fn check(ids: &Ids<'_>, lane: usize, place: Place, operation: Operation) -> Result<(), LaneFault> {
    let (Some(checker), Place::Common(_)) = (&ids.launch.checker, place) else {
        return Ok(());
    };
    let (function, pc) = ids.place;
    let at = || ids.launch.place(function, pc);
    match checker.access(
        ids.thread(lane),
        operation,
        (ids.launch.module_id(), function, pc),
        &at,
    ) {
        Some(report) => Err((1 << lane, FaultKind::Race(report))),
        None => Ok(()),
    }
}

fn operation(
    kind: Kind,
    address: u64,
    bytes: u32,
    semantics: Semantics,
    scope: Scope,
) -> Operation {
    Operation {
        kind,
        address,
        bytes,
        semantics,
        scope,
        seen: 0,
        left: 0,
    }
}

pub(super) fn load(
    op: &Load,
    function: &Function,
    frame: &mut Frame,
    active: Mask,
    spaces: &mut Spaces<'_>,
    ids: &Ids<'_>,
    notes: &mut Notes<'_>,
) -> Result<(), LaneFault> {
    let at = addresses(&op.at, function, frame, ids);
    *notes.polls |= op.semantics != Semantics::Weak;
    let count = op.ds.len() as u32;
    let access = Access {
        name: "load",
        bytes: op.bytes * count,
        write: false,
    };
    let shift = 64 - op.bytes * 8;
    let mut places = [None; LANES];
    let mut faults = Faults::default();
    for lane in lanes_of(active) {
        let place = match spaces.find(lane, op.at.space, at[lane], access) {
            Ok(place) => place,
            Err(kind) => {
                faults.add(lane, kind);
                continue;
            }
        };
        places[lane] = Some(place);
        *notes.asks_host |= memory::is_mapped(at[lane]);
    }
    for (part, &d) in op.ds.iter().enumerate() {
        let mut t: Lanes = [0; LANES];
        for lane in lanes_of(active) {
            let Some(place) = places[lane] else { continue };
            let by = part as u32 * op.bytes;
            let mut value = offset(place, by).load(op.bytes, op.semantics);
            if ids.launch.checker.is_some() {
                let address = at[lane] + u64::from(by);
                let mut operation =
                    operation(Kind::Load, address, op.bytes, op.semantics, op.scope);
                (operation.seen, operation.left) = (value, value);
                check(ids, lane, place, operation)?;
            }
            if op.extend > 0 {
                value = ((value << shift) as i64 >> shift) as u64;
                if op.extend < 64 {
                    value &= (1 << op.extend) - 1;
                }
            }
            t[lane] = value;
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
    spaces: &mut Spaces<'_>,
    ids: &Ids<'_>,
    notes: &mut Notes<'_>,
) -> Result<(), LaneFault> {
    let at = addresses(&op.at, function, frame, ids);
    let access = Access {
        name: "store",
        bytes: op.bytes * op.sources.len() as u32,
        write: true,
    };
    let mut faults = Faults::default();
    for lane in lanes_of(active) {
        let place = match spaces.find(lane, op.at.space, at[lane], access) {
            Ok(place) => place,
            Err(kind) => {
                faults.add(lane, kind);
                continue;
            }
        };
        let is_common = matches!(place, Place::Common(_));
        for (part, &source) in op.sources.iter().enumerate() {
            let by = part as u32 * op.bytes;
            let value = frame.src(function, source)[lane];
            if is_common && ids.launch.checker.is_some() {
                let address = at[lane] + u64::from(by);
                let mut operation =
                    operation(Kind::Store, address, op.bytes, op.semantics, op.scope);
                operation.seen = offset(place, by).load(op.bytes, Semantics::Relaxed);
                operation.left = value;
                check(ids, lane, place, operation)?;
            }
            let changed = offset(place, by).store(op.bytes, value, op.semantics);
            *notes.progress |= changed && op.at.space != crate::code::op::Where::Frame;
        }
    }
    faults.result()
}

pub(super) fn atom(
    op: &Atom,
    function: &Function,
    frame: &mut Frame,
    active: Mask,
    spaces: &mut Spaces<'_>,
    ids: &Ids<'_>,
    notes: &mut Notes<'_>,
) -> Result<(), LaneFault> {
    let at = addresses(&op.at, function, frame, ids);
    let access = Access {
        name: "atomic operation",
        bytes: op.bytes,
        write: true,
    };
    let mut t: Lanes = [0; LANES];
    let mut faults = Faults::default();
    for lane in lanes_of(active) {
        let place = match spaces.find(lane, op.at.space, at[lane], access) {
            Ok(place) => place,
            Err(kind) => {
                faults.add(lane, kind);
                continue;
            }
        };
        let b = frame.src(function, op.b)[lane];
        // Global memory flushes, shared memory does not.
        let ftz = matches!(place, Place::Common(_));
        let mut left = 0;
        let old = match (op.op, op.c) {
            (AtomOp::CompareAndSwap, Some(c)) => {
                let c = frame.src(function, c)[lane];
                place.update(op.bytes, |old| {
                    left = if old == b { c } else { old };
                    left
                })
            }
            _ => place.update(op.bytes, |old| {
                left = combine(op.op, op.bytes, old, b, ftz);
                left
            }),
        };
        *notes.progress |= old != left;
        *notes.polls |= old == left;
        if ids.launch.checker.is_some() {
            let mut operation = operation(Kind::Atomic, at[lane], op.bytes, op.semantics, op.scope);
            (operation.seen, operation.left) = (old, left);
            check(ids, lane, place, operation)?;
        }
        t[lane] = old;
    }
    if let Some(d) = op.d {
        frame.set(d, active, &t);
    }
    faults.result()
}
