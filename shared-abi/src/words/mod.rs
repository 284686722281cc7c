//! Access to words that another processor accesses too.
//!
//! The protocols are written against three traits: one per *scope*, and one for
//! the single read-modify-write on mapped memory. The ordering stands at each
//! access, as an argument or in the name. On a GPU they are inline
//! instructions of the architecture, on a host processor its atomics, and in the
//! model checker its own; the protocol code is the same.
//!
//! [`Coherent`] implements all three for a processor whose threads share coherent
//! memory: the host itself, and the `host` device.
//!
//! Offsets are in bytes from the start of the implementor's memory. They must be naturally aligned
//! and inside it.

mod coherent;

pub use coherent::Coherent;

/// Order of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// No order. Every use states why that is enough.
    Relaxed,
    /// Writes of the releasing side before its store are visible after this load.
    Acquire,
}

/// Order of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// No order. Every use states why that is enough.
    Relaxed,
    /// Makes earlier writes visible to a thread that acquires this store.
    Release,
}

/// Words in *mapped* memory: host memory that a device sees too. Scope: system.
///
/// Loads and stores only. Over PCIe these are atomic when naturally aligned and
/// at most 16 bytes wide, while read-modify-writes are not.
pub trait SystemWords {
    /// Whether [`prefetch`](Self::prefetch) does anything: the memory is in a cache of the processor.
    const PREFETCHES: bool = false;
    /// Bytes of a cache line of the processor, for prefetches.
    const LINE: usize = 64;
    /// The memory from byte offset `at` on.
    #[must_use]
    fn at_offset(&self, at: usize) -> Self
    where
        Self: Sized;
    /// Loads the `u32` at byte offset `at`.
    fn load32(&self, at: usize, order: Load) -> u32;
    /// Stores the `u32` at byte offset `at`.
    fn store32(&self, at: usize, value: u32, order: Store);
    /// Loads the `u64` at byte offset `at`.
    fn load64(&self, at: usize, order: Load) -> u64;
    /// Stores the `u64` at byte offset `at`.
    fn store64(&self, at: usize, value: u64, order: Store);
    /// Loads the two `u64` at byte offset `at`, a multiple of 16, without order. Each is atomic by
    /// itself; over a bus, one read fetches both.
    #[inline]
    fn load_pair(&self, at: usize) -> [u64; 2] {
        [0, 8].map(|i| self.load64(at + i, Load::Relaxed))
    }
    /// The values of [`load_pair`](Self::load_pair), neither of which is used before both have arrived: two
    /// loads then take the time of one.
    #[inline]
    fn join_loads(pair: [u64; 2]) -> [u64; 2] {
        pair
    }
    /// Stores the two `u64` at byte offset `at`, a multiple of 16, without order. Each is atomic by
    /// itself; over a bus, one write carries both.
    #[inline]
    fn store_pair(&self, at: usize, [first, second]: [u64; 2]) {
        self.store64(at, first, Store::Relaxed);
        self.store64(at + 8, second, Store::Relaxed);
    }
    /// Begins to load the line of memory around byte offset `at` into the processor's cache, if
    /// [`PREFETCHES`](Self::PREFETCHES).
    #[inline]
    fn prefetch(&self, _at: usize) {}
    /// Like [`prefetch`](Self::prefetch), for stores.
    #[inline]
    fn prefetch_to_store(&self, _at: usize) {}
    /// Full fence at system scope: orders an earlier store with a later load.
    fn fence(&self);
    /// Makes earlier writes visible to a thread that sees a later store of this one and then
    /// executes [`acquire_fence`](Self::acquire_fence).
    fn release_fence(&self);
    /// See [`release_fence`](Self::release_fence).
    fn acquire_fence(&self);

    /// Loads the byte at offset `at`, without order.
    fn load8(&self, at: usize) -> u8;
    /// Stores the byte at offset `at`, without order.
    fn store8(&self, at: usize, value: u8);

    /// Copies `len` bytes to byte offset `at`, without order: the store that
    /// publishes or completes orders them.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes, which no other thread writes.
    #[inline]
    unsafe fn write_bytes(&self, at: usize, from: *const u8, len: usize) {
        let mut done = 0;
        while len - done >= 16 && from.addr().is_multiple_of(8) && at.is_multiple_of(16) {
            // SAFETY: 16 more bytes are there, aligned as `from` is.
            let pair = unsafe { from.add(done).cast::<[u64; 2]>().read() };
            self.store_pair(at + done, pair);
            done += 16;
        }
        while done < len {
            let at = at + done;
            // SAFETY: `done < len`, for which the caller vouches.
            let from = unsafe { from.add(done) };
            let step = step(from.addr(), at, len - done);
            // SAFETY: `step` returns a size that is left, and suits both alignments.
            unsafe {
                match step {
                    8 => self.store64(at, from.cast::<u64>().read(), Store::Relaxed),
                    4 => self.store32(at, from.cast::<u32>().read_unaligned(), Store::Relaxed),
                    _ => self.store8(at, from.read()),
                }
            }
            done += step;
        }
    }

    /// Copies `len` bytes from byte offset `at`, without order: the load that
    /// saw the publication or the completion orders them. If the other side writes
    /// meanwhile, the result is some bytes, not undefined behaviour.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes, which no other thread touches.
    #[inline]
    unsafe fn read_bytes(&self, at: usize, to: *mut u8, len: usize)
    where
        Self: Sized,
    {
        let (mut from, mut to, mut left) = (self.at_offset(at), to, len);
        let is_aligned = (to.addr() | at).is_multiple_of(8);
        let has_pairs = at.is_multiple_of(16);
        // Many loads in flight at a time: over a bus, a single one takes as long as all.
        while left >= 8 * IN_FLIGHT && is_aligned {
            let words: [u64; IN_FLIGHT] = if has_pairs {
                let pairs: [_; IN_FLIGHT / 2] = core::array::from_fn(|i| from.load_pair(16 * i));
                core::array::from_fn(|i| pairs[i / 2][i % 2])
            } else {
                core::array::from_fn(|i| from.load64(8 * i, Load::Relaxed))
            };
            // SAFETY: that many more bytes are there, aligned as `to` is.
            unsafe { to.cast::<[u64; IN_FLIGHT]>().write(words) };
            from = from.at_offset(8 * IN_FLIGHT);
            to = to.wrapping_add(8 * IN_FLIGHT);
            left -= 8 * IN_FLIGHT;
        }
        let mut at = at;
        while left > 0 {
            let step = step(to.addr(), at, left);
            // SAFETY: `step` returns a size that is left, and suits both alignments.
            unsafe {
                match step {
                    8 => to.cast::<u64>().write(from.load64(0, Load::Relaxed)),
                    4 => to
                        .cast::<u32>()
                        .write_unaligned(from.load32(0, Load::Relaxed)),
                    _ => to.write(from.load8(0)),
                }
            }
            from = from.at_offset(step);
            to = to.wrapping_add(step);
            at += step;
            left -= step;
        }
    }
}

/// Words that [`SystemWords::read_bytes`] loads before it uses the first.
const IN_FLIGHT: usize = 8;

/// The number of the next `len` bytes, at least 1, to copy at once between memory at `address` and
/// shared words at `at`: 8 if both are aligned for it; 4 if only the shared word is, since each of
/// its accesses may cross a bus; otherwise 1.
#[inline]
const fn step(address: usize, at: usize, len: usize) -> usize {
    if (address | at).is_multiple_of(8) && len >= 8 {
        8
    } else if at.is_multiple_of(4) && len >= 4 {
        4
    } else {
        1
    }
}

/// Words in *device* memory, shared by the threads of one device. Scope: device.
pub trait DeviceWords {
    /// Loads the `u32` at byte offset `at`.
    fn load32(&self, at: usize, order: Load) -> u32;
    /// Stores the `u32` at byte offset `at`.
    fn store32(&self, at: usize, value: u32, order: Store);
    /// Sets the bits of `mask`, returns the word as it was. Pairs with the
    /// [`fetch_and_release`](Self::fetch_and_release) that cleared them.
    fn fetch_or_acquire(&self, at: usize, mask: u32) -> u32;
    /// Keeps the bits of `mask`, returns the word as it was.
    fn fetch_and_release(&self, at: usize, mask: u32) -> u32;
}

/// Read-modify-writes on a word of mapped memory.
///
/// Only the ticket counters of GCC's `gcc-ring` and `gcn-queue` need one. Only the threads of one
/// device may use it on the same word, since PCIe provides no more than device scope.
pub trait TicketWord {
    /// Adds `n` to the `u32` at byte offset `at`, returns the word as it was.
    /// Relaxed: the ticket orders nothing, the slot's own words do.
    fn fetch_add_relaxed(&self, at: usize, n: u32) -> u32;
}
