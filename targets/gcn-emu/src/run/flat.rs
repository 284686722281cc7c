//! Accesses to flat, global and scratch memory.

use std::sync::atomic::{Ordering, fence};

use super::access::{Access, Action, Element};
use super::address::{Memory, Space, of_flat};
use super::flow::Flow;
use super::group::Group;
use super::operand::{Source, Target};
use super::step::{Detail, Step};
use super::wave::{Wave, lanes_of};
use crate::fault::FaultKind;
use crate::inst::Segment;

/// An access to flat, global or scratch memory. The sources are the address in vector registers, and
/// that in scalar registers.
pub(super) fn run(wave: &mut Wave, step: &Step, group: &mut Group) -> Flow {
    let Detail::Access(access) = &step.detail else {
        return Flow::Next;
    };
    if access.action == Action::Fence {
        fence(Ordering::SeqCst);
        return Flow::Next;
    }
    let [vector, scalar, ..] = &step.src;
    let base = match (access.segment, scalar) {
        (_, Source::None) => 0,
        (Segment::Scratch, scalar) => u64::from(wave.read32(scalar)),
        (_, scalar) => wave.read64(scalar),
    };
    let has_base = *scalar != Source::None;
    for lane in lanes_of(wave.exec()) {
        let vector = match *vector {
            Source::Vector(row) => {
                let row = usize::from(row);
                let low = u64::from(wave.word(row, lane));
                match access.segment {
                    // Beside a base there is an offset of 32 bits.
                    Segment::Scratch => low,
                    Segment::Global if has_base => low,
                    _ => u64::from(wave.word(row + 1, lane)) << 32 | low,
                }
            }
            _ => 0,
        };
        let address = base
            .wrapping_add(vector)
            .wrapping_add_signed(access.offsets[0]);
        let place = match access.segment {
            Segment::Flat => of_flat(address),
            Segment::Global => (Space::Global, address),
            Segment::Scratch => (Space::Private, address & u64::from(u32::MAX)),
        };
        if let Err(kind) = perform(wave, group, lane, place, access, step.dst) {
            return wave.fail(lane, kind);
        }
    }
    Flow::Next
}

/// Performs an access of a lane.
#[inline]
pub(super) fn perform(
    wave: &mut Wave,
    group: &mut Group,
    lane: usize,
    place: (Space, u64),
    access: &Access,
    dst: Target,
) -> Result<(), FaultKind> {
    let (data, dst) = (usize::from(access.data), rows_of(dst));
    let mut memory = Memory { wave, group, lane };
    match access.action {
        Action::Load(element) => {
            let loaded = memory.load(place, element.bytes)?;
            write(memory.wave, lane, dst, element, loaded);
        }
        Action::Store(element) => {
            let words = read(memory.wave, lane, data, element);
            memory.store(place, element.bytes, words)?;
        }
        Action::Atomic(op, element, returns) => {
            let one = read(memory.wave, lane, data, element) as u64;
            let two = match op.data() {
                1 => 0,
                _ => read(memory.wave, lane, usize::from(access.second), element) as u64,
            };
            let old = memory.update(place, element.bytes, op, [one, two])?;
            if returns {
                write(memory.wave, lane, dst, element, old.into());
            }
        }
        Action::Fence => {}
    }
    Ok(())
}

fn rows_of(dst: Target) -> usize {
    match dst {
        Target::Vector(row) => usize::from(row),
        Target::Scalar(_) | Target::None => 0,
    }
}

/// Writes an element to the registers of a lane.
#[inline]
pub(super) fn write(wave: &mut Wave, lane: usize, row: usize, element: Element, loaded: u128) {
    let words = element.words();
    if words == 1 {
        let old = wave.word(row, lane);
        wave.set_word(row, lane, element.extended(loaded as u32, old));
        return;
    }
    for word in 0..words {
        wave.set_word(row + word, lane, (loaded >> (32 * word)) as u32);
    }
}

/// Reads an element from the registers of a lane.
#[inline]
pub(super) fn read(wave: &Wave, lane: usize, row: usize, element: Element) -> u128 {
    let words = element.words();
    if words == 1 {
        return element.stored(wave.word(row, lane)).into();
    }
    (0..words).fold(0, |all, word| {
        all | u128::from(wave.word(row + word, lane)) << (32 * word)
    })
}
