//! Accesses to LDS.

use bus_cost::record::lanes_of;

use super::access::{Access, Action};
use super::address::Memory;
use super::check;
use super::counters::{Counter, Counters};
use super::flow::Flow;
use super::group::Group;
use super::operand::{Destination, Source};
use super::perform;
use super::registers::{read, write};
use super::space::Space;
use super::step::{Detail, Step};
use super::wave::Wave;
use super::weak;
use crate::fault::FaultKind;

/// An access to LDS. The first source is the address.
pub(super) fn run(wave: &mut Wave, step: &Step, group: &mut Group) -> Flow {
    let Detail::Access(access) = &step.detail else {
        return Flow::Next;
    };
    check::access_lds(wave, group, access.action);
    for lane in lanes_of(wave.exec()) {
        let base = match step.src[0] {
            Source::Vector(row) => u64::from(wave.word(row.into(), lane)),
            _ => 0,
        };
        // Addresses have 32 bits.
        let address = |offset| base.wrapping_add_signed(offset) & u64::from(u32::MAX);
        let [first, second] = access.offsets.map(address);
        let done = if access.offsets[1] < 0 {
            perform::perform(wave, group, lane, (Space::Lds, first), access, step.dst)
        } else {
            both(wave, group, lane, [first, second], access, step.dst)
        };
        if let Err(kind) = done {
            return wave.fail(lane, kind);
        }
    }
    if wave.is_observed {
        let action = match access.offsets[1] < 0 {
            true => access.action,
            false => access.action.doubled(),
        };
        perform::finish_observed(wave, action, step.dst, Counters::one(Counter::Lds));
    }
    Flow::Next
}

/// An access with two addresses.
fn both(
    wave: &mut Wave,
    group: &mut Group,
    lane: usize,
    addresses: [u64; 2],
    access: &Access,
    dst: Destination,
) -> Result<(), FaultKind> {
    let data = [access.data, access.second].map(usize::from);
    let mut memory = Memory { wave, group, lane };
    // Both are read before either is written.
    let mut loaded = [0; 2];
    for (at, address) in addresses.into_iter().enumerate() {
        let place = (Space::Lds, address);
        weak::complete_stores_to(&mut memory, place, access.action.bytes());
        match access.action {
            Action::Load(element) => loaded[at] = memory.load(place, element.bytes)?,
            Action::Store(element) => {
                let words = read(memory.wave, lane, data[at], element);
                memory.store(place, element.bytes, words)?;
            }
            Action::Atomic(op, element, _) => {
                let datum = read(memory.wave, lane, data[at], element) as u64;
                let old = memory.update(place, element.bytes, op, [datum, 0])?;
                loaded[at] = old.into();
            }
            Action::Caches(_) => {}
        }
    }
    if let (Action::Load(element) | Action::Atomic(_, element, true), Destination::Vector(row)) =
        (access.action, dst)
    {
        if memory.wave.pending.is_some() {
            let both = loaded[0] | loaded[1] << (8 * element.bytes);
            weak::push_loaded(memory.wave, lane, both);
            return Ok(());
        }
        for (at, loaded) in loaded.into_iter().enumerate() {
            let row = usize::from(row) + at * element.words();
            write(memory.wave, lane, row, element, loaded);
        }
    }
    Ok(())
}
