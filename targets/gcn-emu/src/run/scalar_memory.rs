//! Scalar accesses to memory.

use std::sync::atomic::{Ordering, fence};

use super::address::Memory;
use super::check;
use super::flow::Flow;
use super::group::Group;
use super::operand::{Destination, Source};
use super::space::Space;
use super::step::Step;
use super::wave::Wave;
use super::weak;
use crate::isa::ScalarMemoryOp;

/// The element of a load in memory and in registers: bytes, and whether it is extended with its sign.
pub(super) fn element(op: ScalarMemoryOp) -> Option<(u32, bool)> {
    let name = op.row().name;
    let kind = name
        .strip_prefix("s_load_")
        .or(name.strip_prefix("s_buffer_load_"))?;
    let bits: u32 = kind[1..].parse().ok()?;
    Some((bits / 8, kind.starts_with('i')))
}

/// A load. The sources are the base and an offset in a register; the number in the instruction is
/// another offset.
pub(super) fn load(wave: &mut Wave, step: &Step, group: &mut Group) -> Flow {
    let [base, offset, Source::Constant(bits, _), ..] = &step.src else {
        return Flow::Next;
    };
    let (bytes, signed) = ((*bits & 0xff) as u32, bits >> 8 != 0);
    let offset = match offset {
        Source::None => 0,
        offset => u64::from(wave.read32(offset)),
    };
    // Words are aligned, whatever the address says.
    let align = u64::from(bytes.min(4));
    let address = wave
        .read64(base)
        .wrapping_add(offset)
        .wrapping_add_signed(step.immediate)
        / align
        * align;
    let Destination::Scalar(first) = step.dst else {
        return Flow::Next;
    };
    let is_weak = wave.pending.is_some();
    if let Some(costs) = &mut wave.costs {
        costs.scalar_load(address, bytes, group.kernel.owner(address));
    }
    check::note_scalar_load(wave, group);
    let mut words = Vec::new();
    for at in (0..bytes).step_by(16) {
        let part = (bytes - at).min(16);
        let mut memory = Memory {
            wave,
            group,
            lane: 0,
        };
        let address = address.wrapping_add(at.into());
        let found = match is_weak {
            true => weak::scalar_load(&mut memory, address, part),
            false => memory.load((Space::Global, address), part),
        };
        let loaded = match found {
            Ok(loaded) => loaded,
            Err(kind) => return wave.fail(0, kind),
        };
        let loaded = match (part, signed) {
            (1, true) => i32::from(loaded as i8).cast_unsigned().into(),
            (2, true) => i32::from(loaded as i16).cast_unsigned().into(),
            _ => loaded,
        };
        for word in 0..part.div_ceil(4) {
            let register = first + (at / 4 + word) as u8;
            let word = (loaded >> (32 * word)) as u32;
            match is_weak {
                true => words.push(word),
                false => wave.set_scalar(register, word),
            }
        }
    }
    if is_weak {
        weak::issue_scalar(wave, first, words);
    }
    Flow::Next
}

/// An instruction on the scalar cache. There is none, but in weak memory mode.
pub(super) fn invalidate(_: &mut Wave, _: &Step, group: &mut Group) -> Flow {
    fence(Ordering::SeqCst);
    if let Some(caches) = &mut group.caches {
        caches.invalidate_scalar();
    }
    Flow::Next
}

/// A prefetch, which has no effect.
pub(super) fn prefetch(_: &mut Wave, _: &Step, _: &mut Group) -> Flow {
    Flow::Next
}

/// The time: a counter of the core's clock, or one of 100 MHz.
pub(super) fn time(wave: &mut Wave, step: &Step, group: &mut Group) -> Flow {
    let nanoseconds = group.kernel.clock();
    if let Destination::Scalar(first) = step.dst {
        wave.set_pair(first, nanoseconds / step.immediate.unsigned_abs().max(1));
    }
    Flow::Next
}
