//! Accesses to buffers, which a resource of four scalar registers describes.
//!
//! Source: AMD's manuals, "Vector Memory Operations", buffer addressing.

use bus_cost::record::lanes_of;

use super::access::Action;
use super::flow::Flow;
use super::group::Group;
use super::operand::{Source, Target};
use super::perform;
use super::registers::write;
use super::space::Space;
use super::step::{Detail, Step};
use super::wave::Wave;
use crate::arch::Generation;
use crate::memory::SCRATCH;

/// A buffer resource.
struct Resource {
    base: u64,
    stride: u64,
    records: u64,
    /// The number of adjacent elements of neighbouring indices, and their bytes; none without swizzling.
    swizzle: Option<(u64, u64)>,
    adds_lane: bool,
}

impl Resource {
    fn new(words: [u32; 4], generation: Generation) -> Self {
        let [low, high, records, flags] = words;
        let index_stride = 8 << (flags >> 21 & 3);
        let (is_swizzled, element) = match generation {
            Generation::Gfx9 => (high >> 31 != 0, 2 << (flags >> 19 & 3)),
            // The size of elements is fixed.
            Generation::Gfx11 | Generation::Gfx12 => (high >> 30 & 3 != 0, 4),
        };
        Self {
            base: u64::from(high & 0xffff) << 32 | u64::from(low),
            stride: u64::from(high >> 16 & 0x3fff),
            records: records.into(),
            swizzle: is_swizzled.then_some((index_stride, element)),
            adds_lane: flags >> 23 & 1 != 0,
        }
    }

    /// The offset in a lane's private memory of what the resource and the scalar offset address, if they
    /// address that. Accesses may then cross the interleaved words.
    fn frame(&self, scratch: u64, scalar: u64) -> Option<u64> {
        const LANES: u64 = 64;
        let is_private = self.adds_lane && self.swizzle == Some((LANES, 4));
        let start = self.base.wrapping_add(scalar).checked_sub(scratch)?;
        let is_inside = self.base >= SCRATCH && start.is_multiple_of(4 * LANES);
        (is_private && is_inside).then_some(start / LANES)
    }

    /// The offset of a byte of an element, without that in a scalar register.
    fn offset(&self, index: u64, offset: u64) -> u64 {
        match self.swizzle {
            None => index * self.stride + offset,
            Some((stride, element)) => {
                let (row, column) = (index / stride, index % stride);
                let (block, byte) = (offset / element, offset % element);
                (row * self.stride + block * element) * stride + column * element + byte
            }
        }
    }
}

/// An access to a buffer. The sources are the index or offset, the resource, and the scalar offset.
pub(super) fn run(wave: &mut Wave, step: &Step, group: &mut Group) -> Flow {
    let Detail::Access(access) = &step.detail else {
        return Flow::Next;
    };
    let [vector, resource, scalar, ..] = &step.src;
    let Source::Scalar(first) = *resource else {
        return Flow::Next;
    };
    let words = std::array::from_fn(|at| wave.scalars[(usize::from(first) + at) & 127]);
    let resource = Resource::new(words, wave.target.arch.generation());
    let scalar = u64::from(wave.read32(scalar));
    let scratch = wave.scratch();
    let frame = resource.frame(scratch, scalar);
    for lane in lanes_of(wave.exec()) {
        let word = |at: usize| match *vector {
            Source::Vector(row) => u64::from(wave.word(usize::from(row) + at, lane)),
            _ => 0,
        };
        let index = if access.idxen { word(0) } else { 0 };
        let offset = match access.offen {
            true => word(usize::from(access.idxen)),
            false => 0,
        };
        let index = index + if resource.adds_lane { lane as u64 } else { 0 };
        // Offsets have 32 bits.
        let inside = offset.wrapping_add_signed(access.offsets[0]) & u64::from(u32::MAX);
        let bytes = access.action.bytes();
        // Accesses beyond the buffer have no effect: those without a structure compare bytes.
        let is_outside = match (resource.stride, resource.swizzle) {
            (0, None) => inside + scalar + u64::from(bytes) > resource.records,
            (0, Some(_)) => false,
            _ => !resource.adds_lane && index >= resource.records,
        };
        if is_outside {
            if let (Action::Load(element), Target::Vector(row)) = (access.action, step.dst) {
                write(wave, lane, row.into(), element, 0);
            }
            continue;
        }
        if let (Some(frame), false) = (frame, access.idxen) {
            let place = (Space::Private, frame + inside);
            if let Err(kind) = perform::perform(wave, group, lane, place, access, step.dst) {
                return wave.fail(lane, kind);
            }
            continue;
        }
        let address = resource
            .base
            .wrapping_add(scalar)
            .wrapping_add(resource.offset(index, inside));
        let place = match address.checked_sub(scratch) {
            Some(at) if address >= SCRATCH => (Space::Scratch, at),
            _ => (Space::Global, address),
        };
        if let Err(kind) = perform::perform(wave, group, lane, place, access, step.dst) {
            return wave.fail(lane, kind);
        }
    }
    let counters = access.action.counters(wave.target.arch.generation(), false);
    perform::finish(wave, group, access, step.dst, counters);
    Flow::Next
}
