//! Performing the access of a lane.

use std::sync::atomic::{Ordering, fence};

use super::access::{Access, Action, CacheEffects};
use super::address::Memory;
use super::check;
use super::costs::Owner;
use super::counters::Counters;
use super::group::Group;
use super::operand::Destination;
use super::registers::{read, write};
use super::space::Space;
use super::wave::Wave;
use super::weak;
use crate::fault::FaultKind;

/// Performs the access of a lane.
#[inline]
pub(super) fn perform(
    wave: &mut Wave,
    group: &mut Group,
    lane: usize,
    place: (Space, u64),
    access: &Access,
    dst: Destination,
) -> Result<(), FaultKind> {
    let (data, dst) = (usize::from(access.data), rows_of(dst));
    let mut memory = Memory { wave, group, lane };
    if memory.wave.is_observed {
        note_access(&mut memory, place, access);
        if memory.wave.pending.is_some() {
            return weak::perform(&mut memory, place, access);
        }
    }
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
        Action::Caches(_) => {}
    }
    Ok(())
}

/// Gives a lane 0 for an access without effect that returns a value.
pub(super) fn return_zero(wave: &mut Wave, lane: usize, action: Action, dst: Destination) {
    let (Action::Load(element) | Action::Atomic(_, element, true)) = action else {
        return;
    };
    match wave.pending {
        Some(_) => weak::push_loaded(wave, lane, 0),
        None => write(wave, lane, rows_of(dst), element, 0),
    }
}

fn rows_of(dst: Destination) -> usize {
    match dst {
        Destination::Vector(row) => usize::from(row),
        Destination::Scalar(_) | Destination::None => 0,
    }
}

/// Ends an instruction whose accesses are performed.
pub(super) fn finish(
    wave: &mut Wave,
    group: &mut Group,
    access: &Access,
    dst: Destination,
    counters: Counters,
) {
    if wave.is_observed {
        check::issue(wave, group, access.action);
        finish_observed(wave, access.action, dst, counters);
    }
}

/// The same for a wave that is observed.
pub(super) fn finish_observed(
    wave: &mut Wave,
    action: Action,
    dst: Destination,
    counters: Counters,
) {
    if let Some(costs) = &mut wave.costs {
        costs.end_access(action, counters);
    }
    if wave.pending.is_some() {
        weak::issue(wave, action, dst, counters);
    }
}

/// Notes the access of a lane, if they are counted or checked.
#[cold]
fn note_access(memory: &mut Memory<'_>, (space, address): (Space, u64), access: &Access) {
    let (wave, group) = (&mut *memory.wave, &mut *memory.group);
    match space {
        Space::Global => check::note_access(wave, group, access.action, access.scope),
        Space::Lds => check::access_lds(wave, group, access.action),
        Space::Private | Space::Scratch => {}
    }
    if let Some(costs) = &mut memory.wave.costs {
        let owner = match space {
            Space::Global => memory.group.kernel.owner(address),
            Space::Lds | Space::Private | Space::Scratch => Owner::Other,
        };
        costs.note_access(memory.lane, address, owner);
    }
}

/// An instruction on caches. There are none, but in weak memory mode.
pub(super) fn change_caches(wave: &mut Wave, group: &mut Group, effects: CacheEffects) {
    fence(Ordering::SeqCst);
    if let Some(caches) = &mut group.caches {
        caches.invalidate(effects.invalidates);
    }
    if let Some(costs) = &mut wave.costs {
        costs.change_caches(effects);
    }
    check::change_caches(wave, group, effects);
}
