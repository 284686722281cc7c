//! Copies by the host and by copy engines, which kernels may observe.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use device_arena::bytes::{copy_from_shared, copy_to_shared};

use super::Memory;
use crate::status::{Answer, Status};

/// The bytes that are copied at a time between memory that kernels may use on both sides.
const PIECE: usize = 64 << 10;

/// Source or target of a copy.
#[derive(Clone, Copy, Debug)]
enum Side {
    /// Memory in an arena, which kernels may use too.
    Shared(*mut u8),
    /// The host's own memory, which only the copy uses.
    Own(*mut u8),
}

impl Side {
    /// Advances by `len` bytes, which are there.
    fn skip(self, len: usize) -> Self {
        match self {
            Self::Shared(at) => Self::Shared(at.wrapping_add(len)),
            Self::Own(at) => Self::Own(at.wrapping_add(len)),
        }
    }
}

impl Memory {
    /// Resolves an address to a side of a copy. Addresses of the host's own memory are not checked.
    fn side(&self, address: u64, len: usize) -> Answer<Side> {
        if let Some(host) = self.host(address, len as u64) {
            return Ok(Side::Shared(host.as_ptr()));
        }
        if self.is_ours(address) || address == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let own = std::ptr::with_exposed_provenance_mut(address as usize);
        Ok(Side::Own(own))
    }

    /// Copies `len` bytes.
    ///
    /// # Errors
    /// A side is not in one allocation.
    ///
    /// # Safety
    /// A side in no allocation is memory of the host that is valid for the copy, and not used otherwise.
    pub(crate) unsafe fn copy(&self, to: u64, from: u64, len: usize) -> Answer {
        let (to, from) = (self.side(to, len)?, self.side(from, len)?);
        // SeqCst, before and after: a copy is ordered with all accesses of system scope, whichever thread makes
        // them.
        fence(Ordering::SeqCst);
        // SAFETY: each side is in an allocation, or by the caller's promise valid.
        unsafe { copy(to, from, len) };
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Sets `count` words to a value.
    ///
    /// # Errors
    /// They are not in one allocation, or not aligned.
    pub(crate) fn fill(&self, address: u64, value: u32, count: usize) -> Answer {
        let len = count.checked_mul(4).ok_or(Status::INVALID_ARGUMENT)?;
        let host = self.host(address, len as u64);
        let host = host.filter(|_| address.is_multiple_of(4));
        let host = host.ok_or(Status::INVALID_ARGUMENT)?;
        fence(Ordering::SeqCst);
        for at in 0..count {
            // SAFETY: inside the allocation, and aligned; kernels access it atomically, as this does.
            let word = unsafe { AtomicU32::from_ptr(host.as_ptr().add(4 * at).cast()) };
            // Relaxed: the fences order it.
            word.store(value, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
        Ok(())
    }
}

/// # Safety
/// Both sides are valid for `len` bytes; a shared one is in an allocation.
unsafe fn copy(to: Side, from: Side, len: usize) {
    // SAFETY: the caller's promise.
    if unsafe { copy_word(to, from, len) } {
        return;
    }
    match (to, from) {
        (Side::Own(to), Side::Own(from)) => {
            // SAFETY: the caller's promise; the sides may overlap.
            unsafe { to.copy_from(from, len) };
        }
        (Side::Shared(to), Side::Own(from)) => {
            // SAFETY: the caller's promise; allocations are aligned to more than 8 bytes.
            unsafe { copy_to_shared(to, from, len) };
        }
        (Side::Own(to), Side::Shared(from)) => {
            // SAFETY: as above.
            unsafe { copy_from_shared(to, from, len) };
        }
        (Side::Shared(to_address), Side::Shared(from_address)) => {
            let mut piece = vec![0; len.min(PIECE)];
            let pieces = len.div_ceil(PIECE);
            // Copies from the end if the target is behind the source, since the two may overlap.
            let is_behind = to_address > from_address;
            for at in 0..pieces {
                let at = if is_behind { pieces - 1 - at } else { at };
                let start = at * PIECE;
                let len = PIECE.min(len - start);
                let place = Side::Own(piece.as_mut_ptr());
                // SAFETY: parts of both sides, and as much of the piece.
                unsafe {
                    copy(place, from.skip(start), len);
                    copy(to.skip(start), place, len);
                }
            }
        }
    }
}

/// Copies a word in one step, so that a kernel that waits for it sees all of it or nothing. Returns
/// whether the sides are words.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_word(to: Side, from: Side, len: usize) -> bool {
    let Side::Shared(to) = to else {
        return false;
    };
    let mut bytes = [0; 8];
    if !matches!(len, 4 | 8) || !to.addr().is_multiple_of(len) {
        return false;
    }
    match from {
        // SAFETY: the caller's promise.
        Side::Own(from) => unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from, len) },
        // SAFETY: the caller's promise; allocations are aligned to more than 8 bytes.
        Side::Shared(from) => unsafe { copy_from_shared(bytes.as_mut_ptr(), from, len) },
    }
    let [first, ..] = bytes.as_chunks().0 else {
        unreachable!("eight bytes are two words")
    };
    let (half, word) = (u32::from_ne_bytes(*first), u64::from_ne_bytes(bytes));
    // SAFETY: aligned, and by the caller's promise valid; kernels access it atomically, as this does. Relaxed:
    // the fences of the copy order it.
    unsafe {
        match len {
            4 => AtomicU32::from_ptr(to.cast()).store(half, Ordering::Relaxed),
            _ => AtomicU64::from_ptr(to.cast()).store(word, Ordering::Relaxed),
        }
    }
    true
}
