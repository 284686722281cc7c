//! A kernel with a stack of its own and no call.

use revoff_device::thread;

/// Sorts eight words for each thread.
///
/// # Safety
/// `words` has eight for each thread.
#[revoff_device::kernel]
pub unsafe fn sort(words: *mut u32, steps: u32) {
    // SAFETY: the launcher provides them.
    let words = unsafe { &mut *words.cast::<[u32; 8]>().add(thread::global() as usize) };
    let mut mine = *words;
    for step in 0..steps as usize {
        // Indices known only at run time, so that these words are in memory.
        let (a, b) = (step % 8, mine[step % 8] as usize % 8);
        mine.swap(a, b);
    }
    *words = mine;
}
