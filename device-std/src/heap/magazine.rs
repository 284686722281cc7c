//! Small free blocks, which each thread keeps for itself: an allocation takes one of them, without any
//! lock. A thread frees to its own blocks what any thread has allocated.
//!
//! A thread keeps at most [`BATCHES`] batches of each class, together less than 12 KiB. It returns all
//! of them when it ends, or when the heap is exhausted.

use core::alloc::Layout;
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use revoff_device::thread;

use super::classes::{CLASSES, Class};
use super::shared;

/// The size of a batch: what moves at once between a thread and the shared memory.
const BATCH_BYTES: usize = 512;

/// The most blocks of a batch.
const BATCH_BLOCKS: usize = 16;

/// The most batches of a class that a thread keeps.
const BATCHES: usize = 2;

/// One magazine for each thread of the grid; null if there is no memory for them.
static MAGAZINES: AtomicPtr<Magazine> = AtomicPtr::new(ptr::null_mut());

/// A free block.
struct Block {
    next: *mut Block,
}

/// Free blocks of one class.
struct Stack {
    top: *mut Block,
    len: usize,
}

/// The free blocks of a thread.
struct Magazine([Stack; CLASSES]);

impl Stack {
    /// # Safety
    /// The memory is that of a small block, and nobody uses it.
    unsafe fn push(&mut self, memory: *mut u8) {
        let block = memory.cast::<Block>();
        // SAFETY: the caller's promise; small blocks are large enough and aligned.
        unsafe { block.write(Block { next: self.top }) };
        self.top = block;
        self.len += 1;
    }

    fn pop(&mut self) -> Option<*mut u8> {
        let block = NonNull::new(self.top)?;
        // SAFETY: `push` has written it, and nobody else uses it.
        self.top = unsafe { block.read() }.next;
        self.len -= 1;
        Some(block.as_ptr().cast())
    }

    /// Returns `count` blocks to the shared memory.
    fn release(&mut self, class: Class, count: usize) {
        let blocks = (0..count).map_while(|_| self.pop());
        // SAFETY: all blocks of a class were allocated with its layout, and nobody uses a free one.
        unsafe { shared::dealloc(class.layout(), blocks) };
    }
}

/// The number of blocks in a batch.
fn batch(class: Class) -> usize {
    (BATCH_BYTES / class.layout().size()).clamp(1, BATCH_BLOCKS)
}

/// Creates empty magazines.
///
/// # Safety
/// As for [`super::open`].
pub(super) unsafe fn open() {
    let threads = thread::teams() as usize;
    let Ok(layout) = Layout::array::<Magazine>(threads) else {
        return;
    };
    let magazines = shared::try_alloc(layout).cast::<Magazine>();
    if magazines.is_null() {
        return;
    }
    for index in 0..threads {
        let empty = [const {
            Stack {
                top: ptr::null_mut(),
                len: 0,
            }
        }; CLASSES];
        // SAFETY: the index is below the length of the array, which nobody has seen.
        unsafe { magazines.add(index).write(Magazine(empty)) };
    }
    // Relaxed: the caller publishes it.
    MAGAZINES.store(magazines, Relaxed);
}

/// The blocks of one class of the calling thread.
///
/// # Safety
/// The caller has no other reference to them.
unsafe fn stack(class: Class) -> Option<&'static mut Stack> {
    // Relaxed: `open` ran on this thread, or before an edge to it.
    let magazines = MAGAZINES.load(Relaxed);
    if magazines.is_null() {
        return None;
    }
    // SAFETY: teams have one thread each, so that only the calling thread uses this element. The
    // index is below the length of the array. It is never freed.
    let magazine = unsafe { &mut *magazines.add(thread::team() as usize) };
    magazine.0.get_mut(class.index())
}

/// A small block, or null if the heap cannot grow any more.
pub(super) fn alloc(class: Class) -> *mut u8 {
    let layout = class.layout();
    // SAFETY: the reference is the only one: nothing below allocates small blocks.
    if let Some(stack) = unsafe { stack(class) } {
        if stack.top.is_null() {
            // SAFETY: new blocks, which nobody uses.
            shared::alloc_some(layout, batch(class), |block| unsafe { stack.push(block) });
        }
        if let Some(memory) = stack.pop() {
            return memory;
        }
    }
    shared::alloc(layout)
}

/// Frees a small block.
///
/// # Safety
/// It has the layout of its class, and nobody uses it.
pub(super) unsafe fn dealloc(memory: *mut u8, class: Class) {
    // SAFETY: as in `alloc`.
    let Some(stack) = (unsafe { stack(class) }) else {
        // SAFETY: the caller's promise.
        return unsafe { shared::dealloc(class.layout(), [memory]) };
    };
    if stack.len >= BATCHES * batch(class) {
        stack.release(class, batch(class));
    }
    // SAFETY: the caller's promise.
    unsafe { stack.push(memory) };
}

/// Returns all blocks of the calling thread to the shared memory. False if it had none.
pub(crate) fn empty() -> bool {
    let mut any = false;
    for class in Class::all() {
        // SAFETY: as in `alloc`.
        if let Some(stack) = unsafe { stack(class) }
            && stack.len > 0
        {
            stack.release(class, stack.len);
            any = true;
        }
    }
    any
}
