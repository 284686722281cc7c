//! The sizes of small blocks. Each class of layouts has blocks of one size, so that a thread can use a
//! free block for any layout of its class.

use core::alloc::Layout;

/// The alignment of all small blocks.
const ALIGN: usize = 16;

/// `talc` takes memory in units, of which every allocation spends the last [`TAG`] bytes.
const UNIT: usize = 32;
const TAG: usize = 8;

/// The sizes of the classes, in units. The common sizes 32, 64, 128 and so on take a unit more than
/// their own.
const UNITS: [u8; CLASSES] = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33];

/// The number of classes.
pub(super) const CLASSES: usize = 11;

/// The largest size of a small block, in units.
const LARGEST: usize = UNITS[CLASSES - 1] as usize;

/// The class for each number of units.
static CLASS: [u8; LARGEST + 1] = {
    let mut classes = [0; LARGEST + 1];
    let (mut units, mut class) = (0, 0);
    while units <= LARGEST {
        if units > UNITS[class] as usize {
            class += 1;
        }
        classes[units] = class as u8;
        units += 1;
    }
    classes
};

/// A class of small layouts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    /// All classes.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..CLASSES as u8).map(Self)
    }

    /// Its index, below [`CLASSES`].
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The layout of its blocks.
    pub(super) fn layout(self) -> Layout {
        let size = usize::from(UNITS[self.index()]) * UNIT - TAG;
        // SAFETY: a power of two, and a size far below the largest.
        unsafe { Layout::from_size_align_unchecked(size, ALIGN) }
    }
}

/// The class of a layout; `None` if it is not small.
pub(super) fn of(layout: Layout) -> Option<Class> {
    if layout.align() > ALIGN || layout.size() > LARGEST * UNIT - TAG {
        return None;
    }
    let units = (layout.size() + TAG).div_ceil(UNIT);
    Some(Class(CLASS[units]))
}

/// The layout of the block that contains memory of a layout.
pub(super) fn block(layout: Layout) -> Layout {
    of(layout).map_or(layout, Class::layout)
}
