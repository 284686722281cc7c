//! Accesses to flat, global and scratch memory.

use bus_cost::record::lanes_of;

use super::access::Action;
use super::flow::Flow;
use super::group::Group;
use super::operand::Source;
use super::perform;
use super::space::{Space, of_flat};
use super::step::{Detail, Step};
use super::wave::Wave;
use crate::inst::Segment;

/// An access to flat, global or scratch memory. The sources are the address in vector registers, and
/// that in scalar registers.
pub(super) fn run(wave: &mut Wave, step: &Step, group: &mut Group) -> Flow {
    let Detail::Access(access) = &step.detail else {
        return Flow::Next;
    };
    if let Action::Caches(effects) = access.action {
        perform::change_caches(wave, group, effects);
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
        if let Err(kind) = perform::perform(wave, group, lane, place, access, step.dst) {
            return wave.fail(lane, kind);
        }
    }
    let is_flat = access.segment == Segment::Flat;
    let counters = access
        .action
        .counters(wave.target.arch.generation(), is_flat);
    perform::finish(wave, group, access, step.dst, counters);
    Flow::Next
}
