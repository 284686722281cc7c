//! An arena that knows which bytes are allocated, for every access of a device.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::{ALIGN, Arena, Fill};

/// Flag of a step that the device can only read.
const READ_ONLY: u16 = 1 << 15;

/// The kind of an access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It does both in one step.
    Atomic,
}

impl AccessKind {
    /// A name for errors.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic operation",
        }
    }
}

/// An arena whose allocated bytes are known exactly. Blocks have gaps between them, and freed memory
/// is reused late, so that invalid accesses are noticed.
#[derive(Debug)]
pub struct CheckedArena {
    arena: Arena,
    /// For each step of [`ALIGN`] bytes, how many of its first bytes are allocated.
    steps: Box<[AtomicU16]>,
    /// Held while a block is looked up and freed.
    frees: Mutex<()>,
}

impl CheckedArena {
    /// Reserves `bytes` of addresses, as [`Arena::new`] does.
    ///
    /// # Errors
    /// The system does not provide that much.
    pub fn new(bytes: u64, window: Option<u64>) -> io::Result<Self> {
        let arena = Arena::new(bytes, window)?.with_gaps().with_delayed_reuse();
        let steps = arena.bytes().div_ceil(ALIGN) as usize;
        // Zeroed pages of the system: none is allocated yet.
        // SAFETY: zero bytes are `AtomicU16`s, and the layout is that of the array.
        let steps = unsafe { Box::<[AtomicU16]>::new_zeroed_slice(steps).assume_init() };
        Ok(Self {
            arena,
            steps,
            frees: Mutex::new(()),
        })
    }

    /// Aligns blocks to a multiple of [`ALIGN`] from now on.
    #[must_use]
    pub fn with_alignment(mut self, align: u64) -> Self {
        self.arena = self.arena.with_alignment(align);
        self
    }

    /// Sets the allocated bytes of each step of a block, a function of its bytes in the block.
    fn mark(&self, address: u64, bytes: u64, there: impl Fn(u16) -> u16) {
        let first = ((address - self.arena.window()) / ALIGN) as usize;
        for at in 0..bytes.div_ceil(ALIGN) {
            let inside = (bytes - at * ALIGN).min(ALIGN) as u16;
            // Ordered by the publication of the address to the device.
            self.steps[first + at as usize].store(there(inside), Ordering::Relaxed);
        }
    }

    /// Allocates `bytes` bytes, as [`Arena::alloc`] does.
    pub fn alloc(&self, bytes: u64, fill: Fill) -> Option<u64> {
        let address = self.arena.alloc(bytes, fill)?;
        self.mark(address, bytes, |inside| inside);
        Some(address)
    }

    /// From now on, the device can only read `bytes` bytes at a multiple of [`ALIGN`] in a block.
    ///
    /// # Panics
    /// The range is not in a block, or begins elsewhere.
    pub fn make_read_only(&self, address: u64, bytes: u64) {
        assert!(
            address.is_multiple_of(ALIGN) && self.contains(address, bytes) == Some(true),
            "a part of a block"
        );
        let first = ((address - self.arena.window()) / ALIGN) as usize;
        for step in &self.steps[first..][..bytes.div_ceil(ALIGN) as usize] {
            // Ordered by the publication of the address to the device.
            step.fetch_or(READ_ONLY, Ordering::Relaxed);
        }
    }

    /// Calls `before` with the size of the block at `address`, then frees it. Ignores other addresses.
    pub fn free(&self, address: u64, before: impl FnOnce(u64)) {
        let _held = self.frees.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = self.arena.block(address) {
            before(bytes);
            self.mark(address, bytes, |_| 0);
            self.arena.free(address);
        }
    }

    /// The host address of an access, which is aligned to its size and so is inside one step; `None`
    /// if it is not allowed.
    #[inline]
    #[must_use]
    pub fn resolve(&self, address: u64, bytes: u64, kind: AccessKind) -> Option<NonNull<u8>> {
        let host = NonNull::new(self.arena.host(address)?)?;
        let offset = address - self.arena.window();
        let step = self.steps.get((offset / ALIGN) as usize)?;
        // Relaxed: see `mark`. An access to an unordered address finds memory or faults.
        let step = step.load(Ordering::Relaxed);
        let there = u64::from(step & !READ_ONLY).next_multiple_of(match kind {
            // C libraries search for the end of a string in whole words.
            AccessKind::Load => 8,
            // Compilers exchange the word around a byte.
            AccessKind::Atomic => 4,
            AccessKind::Store => 1,
        });
        let is_constant = step & READ_ONLY != 0 && kind != AccessKind::Load;
        let allowed = offset % ALIGN + bytes <= there && !is_constant;
        allowed.then_some(host)
    }

    /// The device address of the first byte.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u64 {
        self.arena.window()
    }

    /// Size of the range in bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.arena.bytes()
    }

    /// Bytes that are allocated.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.arena.used()
    }

    /// The host address for a device address, allocated or not; `None` outside the range.
    #[inline]
    #[must_use]
    pub fn host(&self, address: u64) -> Option<*mut u8> {
        self.arena.host(address)
    }

    /// The requested size of the block at `address`, if there is one.
    #[must_use]
    pub fn block(&self, address: u64) -> Option<u64> {
        self.arena.block(address)
    }

    /// Whether the range lies in one allocated block; `None` if it starts outside the arena.
    #[must_use]
    pub fn contains(&self, address: u64, len: u64) -> Option<bool> {
        self.arena.contains(address, len)
    }

    /// The size of the block that contained an address and was freed recently.
    fn freed(&self, address: u64) -> Option<u64> {
        let (start, bytes) = self.arena.freed(address)?;
        self.arena.block(start).is_none().then_some(bytes)
    }

    /// The block nearest to an address, if one is near: its begin and its size.
    fn nearest(&self, address: u64) -> Option<(u64, u64)> {
        let first = address
            .saturating_sub(MAX_DISTANCE)
            .max(self.window())
            .next_multiple_of(ALIGN);
        let last = address.saturating_add(MAX_DISTANCE);
        let end = self.window() + self.bytes();
        let block = |start| self.arena.block(start).map(|bytes| (start, bytes));
        let steps = (first..last.min(end)).step_by(ALIGN as usize);
        steps
            .filter_map(block)
            .min_by_key(|&block| distance(address, block))
    }
}

/// The largest distance of a near block.
const MAX_DISTANCE: u64 = 1 << 20;

fn distance(address: u64, (start, bytes): (u64, u64)) -> u64 {
    let end = start + bytes;
    if address < start {
        start - address
    } else {
        address.saturating_sub(end)
    }
}

/// The block at or near an address that may not be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// The address is in a block that was freed.
    Freed {
        /// Its size.
        bytes: u64,
    },
    /// The block is the nearest one.
    Block {
        /// Its begin.
        start: u64,
        /// Its size.
        bytes: u64,
    },
}

impl Neighbour {
    /// The neighbour of an address in any of these arenas; `None` if no block is near.
    #[must_use]
    pub fn find(arenas: &[&CheckedArena], address: u64) -> Option<Self> {
        let freed = arenas.iter().filter_map(|arena| arena.freed(address));
        if let Some(bytes) = freed.min() {
            return Some(Self::Freed { bytes });
        }
        let near = arenas.iter().filter_map(|arena| arena.nearest(address));
        let (start, bytes) = near.min_by_key(|&block| distance(address, block))?;
        let is_near = distance(address, (start, bytes)) < MAX_DISTANCE;
        is_near.then_some(Self::Block { start, bytes })
    }

    /// The position of the address, such as "3 bytes beyond the end of an allocation of 16 bytes". A
    /// block that is a variable has a name.
    #[must_use]
    pub fn describe(self, address: u64, variable: Option<&str>) -> String {
        let count = |bytes: u64| format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" });
        let (start, bytes) = match self {
            Self::Freed { bytes } => {
                return format!("inside an allocation of {} that was freed", count(bytes));
            }
            Self::Block { start, bytes } => (start, bytes),
        };
        let (distance, side) = match address.checked_sub(start + bytes) {
            Some(beyond) => (beyond, "beyond the end of"),
            None if address < start => (start - address, "before"),
            None => (address - start, "past the start of"),
        };
        let distance = match distance {
            0 => "right".to_owned(),
            distance => count(distance),
        };
        let bytes = count(bytes);
        let what = match variable {
            Some(name) => format!("`{name}`, which has {bytes}"),
            None => format!("an allocation of {bytes}"),
        };
        format!("{distance} {side} {what}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u64 = 1 << 60;

    fn arena() -> CheckedArena {
        CheckedArena::new(1 << 20, Some(WINDOW)).expect("a megabyte")
    }

    #[test]
    fn accesses_are_allowed_inside_a_block_alone() {
        let arena = arena();
        let block = arena.alloc(20, Fill::Any).expect("room");
        let is_allowed = |offset, bytes, kind| arena.resolve(block + offset, bytes, kind).is_some();
        for kind in [AccessKind::Load, AccessKind::Store, AccessKind::Atomic] {
            assert!(is_allowed(16, 4, kind), "{}", kind.name());
            assert!(!is_allowed(24, 1, kind), "{}", kind.name());
        }
        assert!(is_allowed(16, 8, AccessKind::Load), "in the last word");
        assert!(!is_allowed(20, 1, AccessKind::Store));
        arena.make_read_only(block, 20);
        assert!(is_allowed(0, 8, AccessKind::Load));
        assert!(!is_allowed(0, 4, AccessKind::Store));
        arena.free(block, |bytes| assert_eq!(bytes, 20));
        assert!(!is_allowed(0, 1, AccessKind::Load));
        assert!(arena.resolve(WINDOW - 1, 1, AccessKind::Load).is_none());
        arena.free(block, |_| panic!("freed twice"));
    }

    #[test]
    fn a_neighbour_is_described() {
        let (arena, other) = (arena(), CheckedArena::new(1 << 20, None).expect("another"));
        let block = arena.alloc(16, Fill::Any).expect("room");
        let describe = |address, variable| {
            let found = Neighbour::find(&[&other, &arena], address);
            found.map(|neighbour| neighbour.describe(address, variable))
        };
        for (address, variable, expected) in [
            (
                block + 16,
                None,
                "right beyond the end of an allocation of 16 bytes",
            ),
            (
                block + 17,
                None,
                "1 byte beyond the end of an allocation of 16 bytes",
            ),
            (
                block + 19,
                Some("x"),
                "3 bytes beyond the end of `x`, which has 16 bytes",
            ),
            (block - 2, None, "2 bytes before an allocation of 16 bytes"),
            (
                block + 4,
                None,
                "4 bytes past the start of an allocation of 16 bytes",
            ),
        ] {
            assert_eq!(describe(address, variable).as_deref(), Some(expected));
        }
        arena.free(block, |_| {});
        let freed = "inside an allocation of 16 bytes that was freed";
        assert_eq!(describe(block + 3, None).as_deref(), Some(freed));
        assert_eq!(describe(block + (1 << 30), None), None);
    }
}
