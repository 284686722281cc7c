//! Accesses to buffers, which a resource of four scalar registers describes.
//!
//! Source: AMD's manuals, "Vector Memory Operations", buffer addressing.

use bus_cost::record::lanes_of;

use super::flow::Flow;
use super::group::Group;
use super::operand::Source;
use super::perform;
use super::space::Space;
use super::step::{Detail, Step};
use super::wave::Wave;
use crate::arch::Generation;
use crate::fault::FaultKind;
use crate::memory::SCRATCH;

/// A buffer resource.
struct Resource {
    base: u64,
    stride: u64,
    records: u64,
    bounds: Bounds,
    /// The number of adjacent elements of neighbouring indices, and their bytes; none without swizzling.
    swizzle: Option<(u64, u64)>,
    adds_lane: bool,
}

/// Which accesses are beyond a buffer.
#[derive(Clone, Copy)]
enum Bounds {
    /// Those whose index is not below the number of records.
    Index,
    /// These, and those that end behind their record.
    IndexAndOffset,
    /// Those that end behind as many bytes as there are records.
    Bytes,
    /// All, if there are no records; otherwise none.
    Emptiness,
    None,
}

impl Resource {
    fn new(words: [u32; 4], generation: Generation) -> Result<Self, FaultKind> {
        let [low, high, records, flags] = words;
        let index_stride = 8 << (flags >> 21 & 3);
        let element = match generation {
            Generation::Gfx9 => (high >> 31 != 0).then_some(2 << (flags >> 19 & 3)),
            Generation::Gfx11 | Generation::Gfx12 => match high >> 30 {
                0 => None,
                1 => Some(4),
                3 => Some(16),
                _ => {
                    let word = format!("a buffer whose second word is {high:#x}: element size 2");
                    return Err(FaultKind::Unsupported(word));
                }
            },
        };
        let stride = u64::from(high >> 16 & 0x3fff);
        let adds_lane = flags >> 23 & 1 != 0;
        let bounds = match (generation, flags >> 28 & 3) {
            (Generation::Gfx9, _) => match (stride, element) {
                (0, None) => Bounds::Bytes,
                (0, Some(_)) => Bounds::None,
                _ if adds_lane => Bounds::None,
                _ => Bounds::Index,
            },
            (_, 0) => Bounds::IndexAndOffset,
            (_, 1) => Bounds::Index,
            (_, 2) => Bounds::Emptiness,
            _ if element.is_some() && stride != 0 => Bounds::IndexAndOffset,
            _ => Bounds::Bytes,
        };
        Ok(Self {
            base: u64::from(high & 0xffff) << 32 | u64::from(low),
            stride,
            records: records.into(),
            bounds,
            swizzle: element.map(|element| (index_stride, element)),
            adds_lane,
        })
    }

    /// Whether an access of so many bytes has no effect: its index, its offset, and that in a scalar
    /// register.
    fn is_beyond(&self, (index, offset, scalar): (u64, u64, u64), bytes: u64) -> bool {
        match self.bounds {
            Bounds::Index => index >= self.records,
            Bounds::IndexAndOffset => index >= self.records || offset + bytes > self.stride,
            Bounds::Bytes => offset + scalar + bytes > self.records,
            Bounds::Emptiness => self.records == 0,
            Bounds::None => false,
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
    let resource = match Resource::new(words, wave.target.arch.generation()) {
        Ok(resource) => resource,
        Err(kind) => return wave.fail_all(kind),
    };
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
        if resource.is_beyond((index, inside, scalar), access.action.bytes().into()) {
            perform::return_zero(wave, lane, access.action, step.dst);
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
