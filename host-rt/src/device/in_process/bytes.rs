//! Copies of memory that other threads use at the same time, with atomic accesses.

use shared_abi::words::{Coherent, SystemWords};

/// Shorter copies go word by word, which has less overhead. They copy a word that is aligned on
/// both sides in one piece; longer ones guarantee that only for bytes.
const SHORT: usize = 192;

/// Copies `len` bytes to memory at `to` that other threads use, too.
///
/// # Safety
/// `from` is readable for `len` bytes, which no one writes meanwhile; those at `to` lie in one
/// allocation, which begins at a multiple of 8 bytes, and other threads access them atomically or
/// ordered with this.
pub(super) unsafe fn copy_to_shared(to: *mut u8, from: *const u8, len: usize) {
    if len >= SHORT && HAS_MOVE {
        // SAFETY: the caller's promise.
        return unsafe { move_bytes(to, from, len) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        let (words, offset) = words_at(to);
        words.write_bytes(offset, from, len);
    }
}

/// Copies `len` bytes from memory at `from` that other threads use, too.
///
/// # Safety
/// As for [`copy_to_shared`], with both sides exchanged.
pub(super) unsafe fn copy_from_shared(to: *mut u8, from: *mut u8, len: usize) {
    if len >= SHORT && HAS_MOVE {
        // SAFETY: the caller's promise.
        return unsafe { move_bytes(to, from, len) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        let (words, offset) = words_at(from);
        words.read_bytes(offset, to, len);
    }
}

/// The words around an address, and its offset in them.
///
/// # Safety
/// As for [`Coherent::new`], for the bytes that are accessed from the offset on. Their allocation
/// begins at a multiple of 8 bytes, and so contains the whole first word.
pub(super) unsafe fn words_at(place: *mut u8) -> (Coherent, usize) {
    // SAFETY: the caller's promise for `Coherent::new`; aligned to 8 bytes.
    let words = unsafe { Coherent::new(place.map_addr(|address| address & !7)) };
    (words, place.addr() & 7)
}

/// Whether the processor has a fast copy instruction.
const HAS_MOVE: bool = cfg!(target_arch = "x86_64");

/// Copies `len` bytes, each by itself with a relaxed atomic load and store or as a part of a longer
/// access. To the compiler, accesses in assembly are whatever the processor does, and never a data
/// race.
///
/// # Safety
/// Both sides have `len` bytes and do not overlap.
#[cfg(target_arch = "x86_64")]
unsafe fn move_bytes(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's promise; the direction flag is clear wherever Rust runs.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn move_bytes(_to: *mut u8, _from: *const u8, _len: usize) {
    unreachable!("there is none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_no_other() {
        let source: Vec<u8> = (0..=255).cycle().take(2000).collect();
        for len in (0..40).chain(SHORT - 9..SHORT + 9).chain([1000]) {
            for skip in 0..9 {
                let mut there = vec![0u8; 2000];
                let mut back = vec![0u8; 2000];
                // SAFETY: each vector is longer, and nothing else uses it.
                unsafe {
                    let place = there.as_mut_ptr().add(16 + skip);
                    copy_to_shared(place, source.as_ptr().add(3), len);
                    copy_from_shared(back.as_mut_ptr().add(5), place, len);
                }
                let mut expected = vec![0u8; 2000];
                expected[16 + skip..][..len].copy_from_slice(&source[3..][..len]);
                assert_eq!(there, expected, "{len} bytes to offset {skip}");
                assert_eq!(back[5..][..len], source[3..][..len]);
                assert!(
                    back[..5]
                        .iter()
                        .chain(&back[5 + len..])
                        .all(|&byte| byte == 0)
                );
            }
        }
    }
}
