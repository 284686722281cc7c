//! Words of a processor with coherent memory: its own atomics.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

use super::{DeviceWords, Load, Store, SystemWords, TicketWord, step};

/// Memory from a base address on, as atomics of the processor that runs this
/// code. Scope plays no part: all threads share the same coherent memory.
///
/// Every function is `inline`, so that a target whose own atomics must not be
/// used (see `device-rt`) compiles none of this.
#[derive(Clone, Copy, Debug)]
pub struct Coherent {
    base: *mut u8,
}

// SAFETY: the struct is an address; every access through it is atomic.
unsafe impl Send for Coherent {}
// SAFETY: the struct is an address; every access through it is atomic.
unsafe impl Sync for Coherent {}

impl Coherent {
    /// The memory that starts at `base`.
    ///
    /// # Safety
    /// Every offset at which the result is used must lie inside one allocation
    /// that starts at or before `base` and lives for as long as the result is
    /// used; `base` must be aligned for the layout that the offsets come from
    /// (at least 8 bytes); and all other accesses to that memory meanwhile must
    /// be atomic or ordered with these.
    #[inline]
    #[must_use]
    pub const unsafe fn new(base: *mut u8) -> Self {
        Self { base }
    }

    /// The address of byte offset `at`.
    #[inline]
    #[must_use]
    pub fn address(&self, at: usize) -> u64 {
        self.base.addr() as u64 + at as u64
    }

    #[inline]
    fn u32(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `new`'s caller vouched for `at`, for alignment, and for the
        // accesses of others.
        unsafe { AtomicU32::from_ptr(self.base.add(at).cast()) }
    }

    #[inline]
    fn u64(&self, at: usize) -> &AtomicU64 {
        // SAFETY: `new`'s caller vouched for `at`, for alignment, and for the accesses of others.
        unsafe { AtomicU64::from_ptr(self.base.add(at).cast()) }
    }

    #[inline]
    fn u8(&self, at: usize) -> &AtomicU8 {
        // SAFETY: `new`'s caller vouched for `at`, and for the accesses of others.
        unsafe { AtomicU8::from_ptr(self.base.add(at)) }
    }
}

#[inline]
const fn load_order(order: Load) -> Ordering {
    match order {
        Load::Relaxed => Ordering::Relaxed,
        Load::Acquire => Ordering::Acquire,
    }
}

#[inline]
const fn store_order(order: Store) -> Ordering {
    match order {
        Store::Relaxed => Ordering::Relaxed,
        Store::Release => Ordering::Release,
    }
}

impl SystemWords for Coherent {
    const PREFETCHES: bool = cfg!(target_arch = "x86_64");

    #[inline]
    fn at_offset(&self, at: usize) -> Self {
        Self {
            // In the allocation, as `new`'s caller vouched for every offset at which it is used.
            base: self.base.wrapping_add(at),
        }
    }

    #[inline]
    fn load32(&self, at: usize, order: Load) -> u32 {
        self.u32(at).load(load_order(order))
    }

    #[inline]
    fn store32(&self, at: usize, value: u32, order: Store) {
        self.u32(at).store(value, store_order(order));
    }

    #[inline]
    fn load64(&self, at: usize, order: Load) -> u64 {
        self.u64(at).load(load_order(order))
    }

    #[inline]
    fn store64(&self, at: usize, value: u64, order: Store) {
        self.u64(at).store(value, store_order(order));
    }

    // The pairs are ordered, though nobody asks for it: on most processors that costs nothing, and the
    // thread sanitizer does not know fences.
    #[inline]
    fn load_pair(&self, at: usize) -> [u64; 2] {
        [0, 8].map(|i| self.u64(at + i).load(Ordering::Acquire))
    }

    #[inline]
    fn store_pair(&self, at: usize, [first, second]: [u64; 2]) {
        self.u64(at).store(first, Ordering::Release);
        self.u64(at + 8).store(second, Ordering::Release);
    }

    #[inline]
    fn prefetch(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let place = self.base.wrapping_add(at).cast_const();
            // SAFETY: every processor of this architecture has SSE; a prefetch accesses nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    #[inline]
    fn prefetch_to_store(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch accesses nothing; processors without this one ignore it.
        unsafe {
            core::arch::asm!(
                "prefetchw [{}]",
                in(reg) self.base.wrapping_add(at),
                options(nostack, preserves_flags, readonly)
            );
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    #[inline]
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }

    #[inline]
    fn release_fence(&self) {
        fence(Ordering::Release);
    }

    #[inline]
    fn acquire_fence(&self) {
        fence(Ordering::Acquire);
    }

    #[inline]
    fn load8(&self, at: usize) -> u8 {
        self.u8(at).load(Ordering::Relaxed)
    }

    #[inline]
    fn store8(&self, at: usize, value: u8) {
        self.u8(at).store(value, Ordering::Relaxed);
    }

    // A word that is aligned on both sides is copied in one piece if the copy is shorter than `LONG`.
    #[inline]
    unsafe fn write_bytes(&self, at: usize, from: *const u8, len: usize) {
        if HAS_MOVE && len >= LONG {
            // SAFETY: the caller's promise, and that of `new`'s caller.
            return unsafe { move_bytes(self.base.add(at), from, len) };
        }
        let mut done = 0;
        while done < len {
            let at = at + done;
            // The other side is memory of this processor, which may have any alignment.
            let step = step(at, at, len - done);
            // SAFETY: `step` returns a size that is left, for which the caller vouches.
            unsafe {
                let from = from.add(done);
                match step {
                    8 => self
                        .u64(at)
                        .store(from.cast::<u64>().read_unaligned(), Ordering::Relaxed),
                    4 => self
                        .u32(at)
                        .store(from.cast::<u32>().read_unaligned(), Ordering::Relaxed),
                    _ => self.store8(at, from.read()),
                }
            }
            done += step;
        }
    }

    #[inline]
    unsafe fn read_bytes(&self, at: usize, to: *mut u8, len: usize) {
        if HAS_MOVE && len >= LONG {
            // SAFETY: the caller's promise, and that of `new`'s caller.
            return unsafe { move_bytes(to, self.base.add(at), len) };
        }
        let mut done = 0;
        while done < len {
            let at = at + done;
            // The other side is memory of this processor, which may have any alignment.
            let step = step(at, at, len - done);
            // SAFETY: `step` returns a size that is left, for which the caller vouches.
            unsafe {
                let to = to.add(done);
                match step {
                    8 => to
                        .cast::<u64>()
                        .write_unaligned(self.u64(at).load(Ordering::Relaxed)),
                    4 => to
                        .cast::<u32>()
                        .write_unaligned(self.u32(at).load(Ordering::Relaxed)),
                    _ => to.write(self.load8(at)),
                }
            }
            done += step;
        }
    }
}

/// Shorter copies go word by word, which has less overhead than an instruction for any length.
const LONG: usize = 384;

/// Whether the processor has such an instruction, and it is fast.
const HAS_MOVE: bool = cfg!(target_arch = "x86_64");

/// Copies `len` bytes, each by itself with a relaxed atomic load and store or as a part of a longer
/// access. To the compiler, accesses in assembly are whatever the processor does, and never a data
/// race.
///
/// # Safety
/// Both sides have `len` bytes and do not overlap.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn move_bytes(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise; the direction flag is clear wherever Rust runs.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
unsafe fn move_bytes(_to: *mut u8, _from: *const u8, _len: usize) {
    unreachable!("there is none")
}

impl TicketWord for Coherent {
    #[inline]
    fn fetch_add_relaxed(&self, at: usize, n: u32) -> u32 {
        self.u32(at).fetch_add(n, Ordering::Relaxed)
    }
}

impl DeviceWords for Coherent {
    #[inline]
    fn load32(&self, at: usize, order: Load) -> u32 {
        self.u32(at).load(load_order(order))
    }

    #[inline]
    fn store32(&self, at: usize, value: u32, order: Store) {
        self.u32(at).store(value, store_order(order));
    }

    #[inline]
    fn fetch_or_acquire(&self, at: usize, mask: u32) -> u32 {
        self.u32(at).fetch_or(mask, Ordering::Acquire)
    }

    #[inline]
    fn fetch_and_release(&self, at: usize, mask: u32) -> u32 {
        self.u32(at).fetch_and(mask, Ordering::Release)
    }
}
