//! Completes LLVM's atomics on NVIDIA GPUs.
//!
//! LLVM up to 22 drops the order of read-modify-writes: they become relaxed ones. [`Ordered`] puts
//! fences around them. (PTX ISA, memory consistency model: a fence before a relaxed operation makes it a
//! release pattern, one behind it an acquire pattern.)
//!
//! LLVM also reads values of one and two bytes with a plain load before it changes them, and changes
//! them with accesses of another size than those that read them, which PTX does not order. [`update`] and
//! its siblings use loads and exchanges of the same 32 bits for all of it.

use super::Ordering::{self, *};
use super::{AO, fence, intrinsics};

/// Orders a read-modify-write whose instruction is relaxed: a fence before it, and one at the end of its
/// scope.
pub(super) struct Ordered(Ordering);

impl Ordered {
    #[inline(always)]
    pub(super) fn new(order: Ordering) -> Self {
        match order {
            Release | AcqRel => fence(Release),
            SeqCst => fence(SeqCst),
            _ => {}
        }
        Self(order)
    }
}

impl Drop for Ordered {
    #[inline(always)]
    fn drop(&mut self) {
        if matches!(self.0, Acquire | AcqRel | SeqCst) {
            fence(Acquire);
        }
    }
}

/// Whether values of this type have one or two bytes.
pub(super) const fn is_narrow<T>() -> bool {
    size_of::<T>() < 4
}

/// Where a value is: the word that contains it, and the position of its first bit there.
struct Narrow {
    word: *mut u32,
    shift: u32,
    mask: u32,
}

impl Narrow {
    #[inline(always)]
    fn of<T>(value: *mut T) -> Self {
        let address = value.expose_provenance();
        Self {
            // Exposed: LLVM must not conclude from the size of a variable that nothing reads it together
            // with its neighbours. Memory is allocated in words.
            word: crate::ptr::with_exposed_provenance_mut(address & !3),
            shift: (address & 3) as u32 * 8,
            mask: if size_of::<T>() == 1 { 0xff } else { 0xffff },
        }
    }

    fn get(&self, word: u32) -> u16 {
        ((word >> self.shift) & self.mask) as u16
    }

    fn set(&self, word: u32, bits: u16) -> u32 {
        word & !(self.mask << self.shift) | (u32::from(bits) & self.mask) << self.shift
    }

    #[inline(always)]
    fn load(&self) -> u32 {
        // SAFETY: aligned, and in memory that the value's owner has. Relaxed: the caller fences.
        unsafe { intrinsics::atomic_load::<u32, { AO::Relaxed }>(self.word) }
    }

    /// Replaces `old`; otherwise returns what is there.
    #[inline(always)]
    fn exchange(&self, old: u32, new: u32) -> Result<(), u32> {
        // SAFETY: as in `load`. Relaxed: the caller fences.
        let (now, is_done) = unsafe {
            intrinsics::atomic_cxchg::<u32, { AO::Relaxed }, { AO::Relaxed }>(self.word, old, new)
        };
        if is_done { Ok(()) } else { Err(now) }
    }
}

/// The bits of a narrow value.
#[inline(always)]
fn bits<T: Copy>(value: T) -> u16 {
    // SAFETY: a value of one or two bytes without padding, as all atomic types have.
    unsafe {
        match size_of::<T>() {
            1 => crate::mem::transmute_copy::<T, u8>(&value).into(),
            _ => crate::mem::transmute_copy(&value),
        }
    }
}

#[inline(always)]
fn value<T: Copy>(bits: u16) -> T {
    // SAFETY: the bits come from a value of this type, or from one of an integer type.
    unsafe {
        match size_of::<T>() {
            1 => crate::mem::transmute_copy(&(bits as u8)),
            _ => crate::mem::transmute_copy(&bits),
        }
    }
}

/// Sign-extends the bits of a narrow value.
#[inline(always)]
pub(super) fn signed<T>(bits: u16) -> i16 {
    if size_of::<T>() == 1 { (bits as u8 as i8).into() } else { bits as i16 }
}

/// Changes a narrow value to `change(value, operand)`. Returns the previous one. Relaxed.
///
/// # Safety
/// As for all atomic operations on `address`.
#[inline]
pub(super) unsafe fn update<T: Copy, U: Copy>(
    address: *mut T,
    operand: U,
    change: impl Fn(u16, u16) -> u16,
) -> T {
    let narrow = Narrow::of(address);
    let mut now = narrow.load();
    loop {
        let old = narrow.get(now);
        match narrow.exchange(now, narrow.set(now, change(old, bits(operand)))) {
            Ok(()) => return value(old),
            Err(other) => now = other,
        }
    }
}

/// Compares and exchanges a narrow value. Relaxed.
///
/// # Safety
/// As for all atomic operations on `address`.
#[inline]
pub(super) unsafe fn compare_exchange<T: Copy>(address: *mut T, old: T, new: T) -> Result<T, T> {
    let narrow = Narrow::of(address);
    let mut now = narrow.load();
    while narrow.get(now) == bits(old) {
        match narrow.exchange(now, narrow.set(now, bits(new))) {
            Ok(()) => return Ok(old),
            Err(other) => now = other,
        }
    }
    Err(value(narrow.get(now)))
}

/// Loads a narrow value. Relaxed.
///
/// # Safety
/// As for all atomic operations on `address`.
#[inline]
pub(super) unsafe fn load<T: Copy>(address: *const T) -> T {
    let narrow = Narrow::of(address.cast_mut());
    value(narrow.get(narrow.load()))
}

/// The order of a compare-and-exchange, whether it fails or not.
#[inline(always)]
pub(super) const fn joined(success: Ordering, failure: Ordering) -> Ordering {
    match (success, failure) {
        (SeqCst, _) | (_, SeqCst) => SeqCst,
        (Release | AcqRel, Acquire) => AcqRel,
        (Relaxed, order) | (order, Relaxed) => order,
        (order, _) => order,
    }
}
