//! Copies of memory that other threads use at the same time, with atomic accesses.

use shared_abi::words::{Coherent, SystemWords};

/// Copies `len` bytes to memory at `to` that other threads use, too.
///
/// # Safety
/// `from` is readable for `len` bytes, which no one writes meanwhile; those at `to` lie in one
/// allocation, which begins at a multiple of 8 bytes, and other threads access them atomically or
/// ordered with this.
pub unsafe fn copy_to_shared(to: *mut u8, from: *const u8, len: usize) {
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
pub unsafe fn copy_from_shared(to: *mut u8, from: *mut u8, len: usize) {
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
pub unsafe fn words_at(place: *mut u8) -> (Coherent, usize) {
    // SAFETY: the caller's promise for `Coherent::new`; aligned to 8 bytes.
    let words = unsafe { Coherent::new(place.map_addr(|address| address & !7)) };
    (words, place.addr() & 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_no_other() {
        let source: Vec<u8> = (0..=255).cycle().take(2000).collect();
        for len in (0..40).chain(375..395).chain([1000]) {
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
