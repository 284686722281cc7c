//! Weak memory mode: what the memory model allows, and hardware does at times.
//!
//! A register that a load fills has garbage until the wait for it. Stores of a wave complete in any
//! order, at the latest at the wait for them. Loads may find content in caches of the compute unit that
//! is older than memory, until an instruction invalidates these. A wave finds its own stores.
//! Code that lacks a wait or an invalidation gives wrong results, sooner or later.
//!
//! Not modelled: the cache that all compute units of a GPU share, and what copy engines see of it.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend", memory model.

use super::access::{Access, Action, Element};
use super::address::Memory;
use super::caches::Caches;
use super::counters::{COUNTERS, Counter, Counters};
use super::group::Group;
use super::operand::Destination;
use super::pending::{Operation, StoredPiece};
use super::private_memory::GARBAGE;
use super::registers::{read, write};
use super::space::Space;
use super::wave::Wave;
use crate::fault::FaultKind;

/// Issues the access of a lane, as a part of an instruction.
pub(super) fn perform(
    memory: &mut Memory<'_>,
    place: (Space, u64),
    access: &Access,
) -> Result<(), FaultKind> {
    let lane = memory.lane;
    complete_stores_to(memory, place, access.action.bytes());
    match access.action {
        Action::Load(element) => {
            let value = load(memory, place, element, access.hits_caches)?;
            push_loaded(memory.wave, lane, value);
        }
        Action::Store(element) => {
            let value = read(memory.wave, lane, access.data.into(), element);
            // Private memory is its own.
            if matches!(place.0, Space::Private | Space::Scratch) {
                return memory.store(place, element.bytes, value);
            }
            memory.check_store(place, element.bytes)?;
            if let Some(pending) = &mut memory.wave.pending {
                pending.stored.push(StoredPiece {
                    lane,
                    place,
                    bytes: element.bytes,
                    value,
                });
            }
        }
        Action::Atomic(op, element, returns) => {
            let data = [access.data, access.second].map(|row| {
                let row = if op.data() == 1 { access.data } else { row };
                read(memory.wave, lane, row.into(), element) as u64
            });
            let old = memory.update(place, element.bytes, op, data)?;
            if returns {
                push_loaded(memory.wave, lane, old.into());
            }
        }
        Action::Caches(_) => {}
    }
    Ok(())
}

/// Notes what a lane has loaded.
pub(super) fn push_loaded(wave: &mut Wave, lane: usize, value: u128) {
    if let Some(pending) = &mut wave.pending {
        pending.loaded.push((lane, value));
    }
}

/// Ends an instruction whose accesses are issued. It is counted, whatever its lanes did.
pub(super) fn issue(wave: &mut Wave, action: Action, dst: Destination, kind: Counters) {
    let Some(pending) = &mut wave.pending else {
        return;
    };
    let stored = std::mem::take(&mut pending.stored);
    let values = std::mem::take(&mut pending.loaded);
    let loads = match (action, dst) {
        (Action::Load(element) | Action::Atomic(_, element, true), Destination::Vector(row)) => {
            Some((usize::from(row), element))
        }
        _ => None,
    };
    let Some((row, element)) = loads else {
        pending.add(Operation::Store(stored), kind);
        return;
    };
    let garbage = (0..4).fold(0, |all, at| all | u128::from(GARBAGE) << (32 * at));
    for &(lane, _) in &values {
        write(wave, lane, row, element, garbage);
    }
    if let Some(pending) = &mut wave.pending {
        let operation = Operation::Load {
            row,
            element,
            values,
        };
        pending.add(operation, kind);
    }
}

/// The content of memory, or of a cache.
fn load(
    memory: &mut Memory<'_>,
    (space, address): (Space, u64),
    element: Element,
    hits_caches: bool,
) -> Result<u128, FaultKind> {
    let current = memory.load((space, address), element.bytes)?;
    let line = Caches::line(address, element.bytes);
    let (Space::Global, Some(line), true) = (space, line, hits_caches) else {
        return Ok(current);
    };
    let shift = 8 * (address - line);
    let mask = u128::MAX >> (128 - 8 * element.bytes);
    if let Some(content) = memory.group.caches.as_mut().and_then(|it| it.find(line)) {
        return Ok(content >> shift & mask);
    }
    // A part of a line at the end of an allocation is not cached.
    if let Ok(content) = memory.load((Space::Global, line), 16)
        && let Some(caches) = &mut memory.group.caches
    {
        caches.fill(line, content);
        return Ok(content >> shift & mask);
    }
    Ok(current)
}

/// Loads by a scalar instruction; the words arrive at the wait for them.
pub(super) fn scalar_load(
    memory: &mut Memory<'_>,
    address: u64,
    bytes: u32,
) -> Result<u128, FaultKind> {
    complete_stores_to(memory, (Space::Global, address), bytes);
    let current = memory.load((Space::Global, address), bytes)?;
    let Some(line) = Caches::line(address, bytes) else {
        return Ok(current);
    };
    let shift = 8 * (address - line);
    let mask = u128::MAX >> (128 - 8 * bytes);
    let caches = memory.group.caches.as_mut();
    if let Some(content) = caches.and_then(|caches| caches.find_scalar(line)) {
        return Ok(content >> shift & mask);
    }
    if let Ok(content) = memory.load((Space::Global, line), 16)
        && let Some(caches) = &mut memory.group.caches
    {
        caches.fill_scalar(line, content);
    }
    Ok(current)
}

/// Ends a scalar load to registers.
pub(super) fn issue_scalar(wave: &mut Wave, first: u8, words: Vec<u32>) {
    for at in 0..words.len() as u8 {
        wave.set_scalar(first + at, GARBAGE);
    }
    let counter = Counter::Scalar.on(wave.target.arch.generation());
    if let Some(pending) = &mut wave.pending {
        let operation = Operation::ScalarLoad { first, words };
        pending.add(operation, Counters::one(counter));
    }
}

/// A wave finds what it has stored itself.
pub(super) fn complete_stores_to(memory: &mut Memory<'_>, place: (Space, u64), bytes: u32) {
    while let Some(pending) = &mut memory.wave.pending {
        let Some(operation) = pending.take_store_to(place, bytes) else {
            return;
        };
        complete(memory.wave, memory.group, operation);
    }
}

/// Completes one of several stores before a wait. Returns whether it did: then the wait is repeated after
/// other waves, which see some of the stores.
pub(super) fn complete_one_of_many(wave: &mut Wave, group: &mut Group) -> bool {
    let store = wave.pending.as_mut().and_then(|it| it.take_one_of_many());
    let Some(store) = store else {
        return false;
    };
    complete(wave, group, store);
    true
}

/// Waits until at most so many operations of each counter are outstanding.
pub(super) fn wait(wave: &mut Wave, group: &mut Group, most: [usize; COUNTERS]) {
    for (counter, most) in most.into_iter().enumerate() {
        while let Some(pending) = &mut wave.pending {
            let Some(operation) = pending.take_waited(counter, most) else {
                break;
            };
            complete(wave, group, operation);
        }
    }
}

/// Completes a store now and then, and the oldest operation of too many.
pub(super) fn tick(wave: &mut Wave, group: &mut Group) {
    let pending = wave.pending.as_mut();
    let chosen = pending.and_then(|it| it.take_excess().or_else(|| it.take_by_chance()));
    if let Some(operation) = chosen {
        complete(wave, group, operation);
    }
}

/// Completes everything, at the end of a wave.
pub(super) fn finish(wave: &mut Wave, group: &mut Group) {
    while let Some(pending) = &mut wave.pending {
        let Some(operation) = pending.take_any() else {
            return;
        };
        complete(wave, group, operation);
    }
}

fn complete(wave: &mut Wave, group: &mut Group, operation: Operation) {
    match operation {
        Operation::Load {
            row,
            element,
            values,
        } => {
            for (lane, value) in values {
                write(wave, lane, row, element, value);
            }
        }
        Operation::ScalarLoad { first, words } => {
            for (register, word) in (first..).zip(words) {
                wave.set_scalar(register, word);
            }
        }
        Operation::Store(pieces) => {
            for piece in pieces {
                if let (Space::Global, Some(caches)) = (piece.place.0, &mut group.caches) {
                    caches.store(piece.place.1, piece.bytes);
                }
                let mut memory = Memory {
                    wave,
                    group,
                    lane: piece.lane,
                };
                // It was checked before. Memory that is freed meanwhile takes no stores.
                let _ = memory.store(piece.place, piece.bytes, piece.value);
            }
        }
    }
}
