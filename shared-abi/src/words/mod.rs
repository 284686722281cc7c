//! How code touches words that another processor touches too.
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
//! Places are byte offsets from the start of the memory that the implementor
//! stands for. Offsets must be naturally aligned and inside it.

mod coherent;

pub use coherent::Coherent;

/// Order of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// No order. Every use says why that is enough.
    Relaxed,
    /// What the releasing side wrote before its store is visible afterwards.
    Acquire,
}

/// Order of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// No order. Every use says why that is enough.
    Relaxed,
    /// What was written before is visible to whoever acquires this store.
    Release,
}

/// Words in *mapped* memory: host memory that a device sees too. Scope: system.
///
/// Loads and stores only. Over PCIe these are atomic when naturally aligned and
/// at most 16 bytes wide, while read-modify-writes are not.
pub trait SystemWords {
    /// Loads the `u32` at byte offset `at`.
    fn load32(&self, at: usize, order: Load) -> u32;
    /// Stores the `u32` at byte offset `at`.
    fn store32(&self, at: usize, value: u32, order: Store);
    /// Loads the `u64` at byte offset `at`.
    fn load64(&self, at: usize, order: Load) -> u64;
    /// Stores the `u64` at byte offset `at`.
    fn store64(&self, at: usize, value: u64, order: Store);
    /// Full fence at system scope: orders an earlier store with a later load.
    fn fence(&self);

    /// Copies `len` bytes to byte offset `at`, without order: the store that
    /// publishes or completes orders them.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes, which no other thread writes.
    unsafe fn write_bytes(&self, at: usize, from: *const u8, len: usize);

    /// Copies `len` bytes from byte offset `at`, without order: the load that
    /// saw the publication or the completion orders them. Whatever the other
    /// side does meanwhile, the result is some bytes, not undefined behaviour.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes, which no other thread touches.
    unsafe fn read_bytes(&self, at: usize, to: *mut u8, len: usize);
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
/// Only GCC's `gcc-ring` asks for one (its ticket counter), and only the threads
/// of one device may use it on the same word: device scope is all that PCIe
/// gives.
pub trait TicketWord {
    /// Adds `n` to the `u32` at byte offset `at`, returns the word as it was.
    /// Relaxed: the ticket orders nothing, the slot's own words do.
    fn fetch_add_relaxed(&self, at: usize, n: u32) -> u32;
}
