//! Memory of the OS thread that runs a block: local and shared memory of device threads.

use std::alloc::{Layout, handle_alloc_error};

use device_arena::Arena;

use crate::alu::LANES;
use crate::spec::MAX_SHARED;

/// Local memory of one thread, the maximum of hardware. Source: the CUDA C++
/// programming guide, table "Technical Specifications per Compute Capability".
pub(super) const LOCAL_BYTES: u32 = 512 << 10;

/// Zeroed memory of one OS thread, aligned for every access.
///
/// It is a mapping of its own, whose pages are allocated at their first use. The allocator would
/// zero reused memory, 16 MiB for a warp that uses a few words.
#[derive(Debug)]
pub(super) struct PrivateMemory(Arena);

impl PrivateMemory {
    fn new(bytes: usize) -> Self {
        let arena = Arena::new(bytes as u64, None);
        Self(arena.unwrap_or_else(|_| {
            // The same reaction as `Box`'s to a lack of memory.
            let layout = Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u64>());
            handle_alloc_error(layout)
        }))
    }

    /// The address of an access, which must be inside.
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        self.0.base().as_ptr().wrapping_add(offset)
    }

    fn bytes(&self) -> usize {
        self.0.bytes() as usize
    }

    /// Zeroes the first `bytes`.
    fn clear(&mut self, bytes: usize) {
        assert!(bytes <= self.bytes(), "inside the memory");
        // SAFETY: inside, as was just asserted, and not shared.
        unsafe { self.at(0).write_bytes(0, bytes) };
    }

    pub(super) fn copy_within(&self, from: usize, to: usize, len: usize) {
        assert!(from.max(to) + len <= self.bytes(), "inside local memory");
        // SAFETY: both ranges are inside, as was just asserted.
        unsafe { std::ptr::copy(self.at(from), self.at(to), len) };
    }
}

/// Memory of ended blocks for reuse by others of their multiprocessor, so that it is not allocated
/// for each block.
#[derive(Default)]
pub(crate) struct Spare {
    locals: Vec<PrivateMemory>,
    shared: Vec<PrivateMemory>,
}

impl Spare {
    /// Local memory of a warp, with the content of an earlier one.
    pub(super) fn local(&mut self) -> PrivateMemory {
        let spare = self.locals.pop();
        spare.unwrap_or_else(|| PrivateMemory::new(LANES * LOCAL_BYTES as usize))
    }

    /// Shared memory of a block, zeroed.
    pub(super) fn shared(&mut self, bytes: u32) -> PrivateMemory {
        let spare = self.shared.pop();
        let mut shared = spare.unwrap_or_else(|| PrivateMemory::new(MAX_SHARED as usize));
        shared.clear(bytes as usize);
        shared
    }

    /// Takes a block's memory back.
    pub(super) fn add(
        &mut self,
        shared: PrivateMemory,
        locals: impl Iterator<Item = PrivateMemory>,
    ) {
        self.shared.push(shared);
        self.locals.extend(locals);
    }
}
