//! Thread-local variables: one table for each key, with an entry for each thread of the grid.

use crate::alloc::{GlobalAlloc, Layout, System};
use crate::ptr;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::atomic::{Atomic, AtomicPtr, AtomicUsize};
use crate::sys::pal::device::{std_thread, std_threads};

pub type Key = usize;
type Destructor = unsafe extern "C" fn(*mut u8);

/// Values of all keys for one thread, in a list of blocks.
struct Block {
    values: [*mut u8; KEYS],
    next: *mut Block,
}

const KEYS: usize = 64;

/// A destructor of a key. Entries are never removed.
struct Registered {
    key: Key,
    destructor: Destructor,
    next: *mut Registered,
}

/// Key 0 means that there is none.
static NEXT_KEY: Atomic<usize> = AtomicUsize::new(1);
static REGISTERED: Atomic<*mut Registered> = AtomicPtr::new(ptr::null_mut());
/// The first block of each thread: an array with `std_threads` elements, allocated at the first use.
static FIRST: Atomic<*mut *mut Block> = AtomicPtr::new(ptr::null_mut());

/// The entry of the calling thread. Only it uses the entry.
#[inline(never)]
fn first() -> *mut *mut Block {
    // Edge `T4`, acquire: pairs with the release below; the array is zeroed.
    let mut all = FIRST.load(Acquire);
    if all.is_null() {
        let layout = Layout::array::<*mut Block>(std_threads() as usize).unwrap();
        // SAFETY: a grid has at least one thread, so the layout is not empty.
        let made = unsafe { System.alloc_zeroed(layout) }.cast::<*mut Block>();
        if made.is_null() {
            rtabort!("no memory for thread-local variables");
        }
        // Edge `T4`, release: pairs with the acquire above, and that of a failed exchange.
        all = match FIRST.compare_exchange(ptr::null_mut(), made, AcqRel, Acquire) {
            Ok(_) => made,
            Err(others) => {
                // SAFETY: allocated above with this layout, and nobody has seen it.
                unsafe { System.dealloc(made.cast(), layout) };
                others
            }
        };
    }
    // SAFETY: the index is below the length of the array.
    unsafe { all.add(std_thread() as usize) }
}

/// Where the calling thread has the value of a key; with `create` false, null if it has none yet.
#[inline(never)]
fn value(key: Key, create: bool) -> *mut *mut u8 {
    let mut link = first();
    for _ in 0..key / KEYS {
        let block = block(link, create);
        if block.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: a block of this thread's list, which only this thread uses.
        link = unsafe { &raw mut (*block).next };
    }
    let block = block(link, create);
    if block.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: as above, and the index is below `KEYS`.
    unsafe { (&raw mut (*block).values).cast::<*mut u8>().add(key % KEYS) }
}

/// The block behind a link of the calling thread's list.
fn block(link: *mut *mut Block, create: bool) -> *mut Block {
    // SAFETY: a link of the calling thread's list, which only this thread uses.
    unsafe {
        if (*link).is_null() && create {
            *link = System.alloc_zeroed(Layout::new::<Block>()).cast();
            if (*link).is_null() {
                rtabort!("no memory for thread-local variables");
            }
        }
        *link
    }
}

#[inline(never)]
pub fn create(destructor: Option<Destructor>) -> Key {
    // Relaxed: only the number has to be unique.
    let key = NEXT_KEY.fetch_add(1, Relaxed);
    if let Some(destructor) = destructor {
        let node = Registered { key, destructor, next: ptr::null_mut() };
        let node = Box::into_raw_with_allocator(Box::new_in(node, System)).0;
        let mut head = REGISTERED.load(Relaxed);
        loop {
            // SAFETY: nobody else has the node before the exchange succeeds.
            unsafe { (*node).next = head };
            // Edge `T5`, release: pairs with the acquire in `run_destructors`.
            match REGISTERED.compare_exchange(head, node, AcqRel, Relaxed) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
    }
    key
}

pub unsafe fn set(key: Key, new: *mut u8) {
    // SAFETY: not null with `create`, and of this thread.
    unsafe { *value(key, true) = new };
}

pub unsafe fn get(key: Key) -> *mut u8 {
    let value = value(key, false);
    // SAFETY: null, or an entry of this thread.
    if value.is_null() { ptr::null_mut() } else { unsafe { *value } }
}

/// Keys are never used again.
pub unsafe fn destroy(_: Key) {}

/// Runs the destructors of the calling thread's values, and frees its memory.
///
/// # Safety
/// The thread uses no thread-local variable after this.
pub unsafe fn run_destructors() {
    // As often as POSIX asks for: destructors may set values again.
    for _ in 0..4 {
        let mut any = false;
        // Edge `T5`, acquire: pairs with the release in `create`.
        let mut node = REGISTERED.load(Acquire);
        while !node.is_null() {
            // SAFETY: nodes are never freed, nor changed once they are in the list.
            let Registered { key, destructor, next } = unsafe { node.read() };
            // SAFETY: the value belongs to this thread and this key.
            unsafe {
                let old = get(key);
                if !old.is_null() {
                    set(key, ptr::null_mut());
                    destructor(old);
                    any = true;
                }
            }
            node = next;
        }
        if !any {
            break;
        }
    }
    crate::rt::thread_cleanup();
    let link = first();
    // SAFETY: blocks of this thread, allocated with this layout, which nobody uses any more.
    unsafe {
        let mut block = crate::mem::replace(&mut *link, ptr::null_mut());
        while !block.is_null() {
            let next = (*block).next;
            System.dealloc(block.cast(), Layout::new::<Block>());
            block = next;
        }
    }
}
