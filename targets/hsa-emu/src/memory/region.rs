//! Memory of one agent, and which GPUs may access each of its pages.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use device_arena::{AccessKind, CheckedArena, Fill};

/// The granularity of access, and the alignment of blocks.
pub(crate) const PAGE: u64 = 4096;

/// A set of GPUs, by their slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gpus(u32);

impl Gpus {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(u32::MAX);

    pub(crate) fn one(slot: usize) -> Self {
        Self(1 << slot)
    }

    pub(crate) fn with(self, slot: usize) -> Self {
        Self(self.0 | 1 << slot)
    }

    pub(crate) fn without(self, slot: usize) -> Self {
        Self(self.0 & !(1 << slot))
    }

    #[inline]
    pub(crate) fn has(self, slot: usize) -> bool {
        self.0 >> slot & 1 == 1
    }
}

/// Memory.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) arena: CheckedArena,
    /// The GPUs with access to each page, which lies in one block.
    access: Box<[AtomicU32]>,
}

impl Region {
    /// Reserves `bytes` of addresses. GPUs see them from `window` on, by default at the host's addresses.
    pub(super) fn new(bytes: u64, window: Option<u64>) -> io::Result<Self> {
        let arena = CheckedArena::new(bytes, window)?.with_alignment(PAGE);
        let pages = arena.bytes().div_ceil(PAGE) as usize;
        // Zeroed pages of the system: no GPU has access.
        // SAFETY: zero bytes are `AtomicU32`s, and the layout is that of the array.
        let access = unsafe { Box::<[AtomicU32]>::new_zeroed_slice(pages).assume_init() };
        Ok(Self { arena, access })
    }

    /// Allocates a block for these GPUs.
    pub(super) fn alloc(&self, bytes: u64, fill: Fill, gpus: Gpus) -> Option<u64> {
        let address = self.arena.alloc(bytes, fill)?;
        self.set_access(address, bytes, gpus);
        Some(address)
    }

    /// Sets the GPUs with access to a block.
    pub(super) fn set_access(&self, address: u64, bytes: u64, gpus: Gpus) {
        let first = ((address - self.arena.window()) / PAGE) as usize;
        for page in &self.access[first..][..bytes.div_ceil(PAGE) as usize] {
            // Relaxed: ordered by the publication of the address to the device.
            page.store(gpus.0, Ordering::Relaxed);
        }
    }

    /// The host address of an access by a GPU; `None` if it is not allowed.
    #[inline]
    pub(super) fn resolve(
        &self,
        slot: usize,
        address: u64,
        bytes: u64,
        kind: AccessKind,
    ) -> Option<NonNull<u8>> {
        let host = self.arena.resolve(address, bytes, kind)?;
        let page = (address - self.arena.window()) / PAGE;
        // Relaxed: see `set_access`. An access to an unordered address finds memory or faults.
        let gpus = Gpus(self.access[page as usize].load(Ordering::Relaxed));
        gpus.has(slot).then_some(host)
    }
}
