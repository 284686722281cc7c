//! Idle threads of the grid, and how they start.
//!
//! Each thread but the first waits for its own word. Its value is null until the thread begins, since a
//! device may hold fewer blocks at a time than were launched; then [`IDLE`], the pointer that the thread
//! is to run with, [`RUNNING`] while it runs, or [`END`].
//!
//! | from | to | by |
//! |---|---|---|
//! | null | `IDLE` | the thread, when it begins |
//! | `IDLE` | pointer | `std_spawn` |
//! | pointer | `RUNNING` | the thread |
//! | `RUNNING` | `IDLE` | the thread, at the end of its work |
//! | null, `IDLE` | `END` | `end`, when `main` has returned |

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};

use revoff_device::{arch, thread};

use crate::heap;
use crate::wait::{self, std_pause, std_wait, std_wake};

/// The state of a thread.
struct Thread {
    word: AtomicPtr<u8>,
    /// An address in the frame of its kernel; 0 before it begins.
    stack_top: AtomicUsize,
}

const _: () = assert!(size_of::<Thread>() as u64 == std_calls::kernel::THREAD_BYTES);

/// The threads; null before `open`.
static THREADS: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());

const RUNNING: *mut u8 = ptr::without_provenance_mut(1);
const END: *mut u8 = ptr::without_provenance_mut(2);
const IDLE: *mut u8 = ptr::without_provenance_mut(3);

unsafe extern "Rust" {
    /// Of the platform layer: runs a thread to its end.
    fn std_run_thread(start: *mut u8);
}

/// Lets threads start.
///
/// # Safety
/// `threads` points to zeroes for [`std_threads`] values of [`Thread`], which live as long as the launch.
pub(crate) unsafe fn open(threads: *mut u8) {
    // Edge `T1`, release: with the acquire in `threads`, the zeroes and the heap are visible.
    THREADS.store(threads.cast(), Release);
}

/// The threads, or an empty slice before `open`.
fn threads() -> &'static [Thread] {
    // Edge `T1`, acquire: pairs with the release in `open`.
    let threads = THREADS.load(Acquire);
    if threads.is_null() {
        return &[];
    }
    // SAFETY: `open` was called with this pointer, in this launch: the host launches an image's kernel
    // once.
    unsafe { core::slice::from_raw_parts(threads, std_threads() as usize) }
}

/// The bytes of the stack from [`stack_top`] on that belong to the kernel's frame.
pub(crate) type TopOfStack = [usize; 2];

/// Says where the stack of the calling thread ends, after `open`.
pub(crate) fn set_stack_top(top: &TopOfStack) {
    if let Some(me) = threads().get(thread::global() as usize) {
        // Relaxed: of this thread alone.
        me.stack_top
            .store(ptr::from_ref(top).expose_provenance(), Relaxed);
    }
}

/// An address in the frame of the calling thread's kernel, which is a [`TopOfStack`]; 0 if it is unknown.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) fn stack_top() -> usize {
    let me = threads().get(thread::global() as usize);
    // Relaxed: as in `set_stack_top`.
    me.map_or(0, |me| me.stack_top.load(Relaxed))
}

/// The life of a thread that does not run `main`.
pub(crate) fn serve() {
    let me = thread::global() as usize;
    let mut attempt = 0_u32;
    let word = loop {
        if let Some(me) = threads().get(me) {
            break &me.word;
        }
        std_pause(attempt);
        attempt = attempt.saturating_add(1);
    };
    let top = TopOfStack::default();
    set_stack_top(&top);
    // Relaxed: says only that this thread can be started. It fails if the program has ended.
    let _ = word.compare_exchange(ptr::null_mut(), IDLE, Relaxed, Relaxed);
    let mut keeps_blocks = false;
    attempt = 0;
    loop {
        // Edge `T2`, acquire: pairs with the release of the exchange in `std_spawn`, and of that in `end`.
        let start = word.load(Acquire);
        if start == IDLE {
            // An idle thread keeps no memory. It is idle for others before it returns it, so that a
            // thread that has been joined can soon be started again.
            if keeps_blocks {
                heap::empty();
                keeps_blocks = false;
            }
            std_wait(low_half(word), IDLE.addr() as u32, attempt, u64::MAX);
            attempt = attempt.saturating_add(1);
            continue;
        }
        if start == END {
            return;
        }
        attempt = 0;
        // Relaxed: only this thread looks for this value.
        word.store(RUNNING, Relaxed);
        // SAFETY: the pointer went to `std_spawn`, and only this thread has received it.
        unsafe { std_run_thread(start) };
        keeps_blocks = true;
        // Relaxed: says only that this thread can be started; `join` orders what it did.
        word.store(IDLE, Relaxed);
    }
}

/// The half of a thread's word that tells [`IDLE`] from all values that follow it: what the system can wait
/// for.
fn low_half(word: &AtomicPtr<u8>) -> &AtomicU32 {
    const { assert!(cfg!(target_endian = "little")) }
    // SAFETY: part of the word, as aligned, and borrowed as long. `std_wait` and `std_wake` do not access it:
    // they name it to the system.
    unsafe { AtomicU32::from_ptr(word.as_ptr().cast()) }
}

/// Ends all threads: those that run, when they wait the next time.
pub(crate) fn stop() -> ! {
    if wait::stop_all() {
        for Thread { word, .. } in threads() {
            std_wake(low_half(word), 1);
        }
    }
    wait::stop()
}

/// Ends the threads that are idle or have not begun, after `main` has returned. If others still run a while
/// later, they are stopped, and the launch fails.
pub(crate) fn end() {
    let begin = arch::clock();
    for Thread { word, .. } in &threads()[1..] {
        let mut attempt = 0_u32;
        let may_end = |now: &*mut u8| now.is_null() || *now == IDLE;
        // Relaxed if it fails: it is tried again.
        while word
            .fetch_update(Release, Relaxed, |now| may_end(&now).then_some(END))
            .is_err()
        {
            if arch::clock().saturating_sub(begin) > PATIENCE_NANOS {
                stop();
            }
            std_pause(attempt);
            attempt = attempt.saturating_add(1);
        }
        std_wake(low_half(word), 1);
    }
}

#[unsafe(no_mangle)]
pub(crate) fn std_thread() -> u32 {
    thread::global()
}

#[unsafe(no_mangle)]
pub(crate) fn std_threads() -> u32 {
    thread::teams()
}

/// The longest wait for a thread that has not begun yet, or that has ended for the program but is not idle
/// yet: `join` and scopes return before.
const PATIENCE_NANOS: u64 = 1_000_000_000;

/// Lets an idle thread run `std_run_thread(start)`. False if there is none.
///
/// # Safety
/// `start` is what `std_run_thread` takes, and nobody else uses it, unless this returns false.
#[unsafe(no_mangle)]
pub(crate) unsafe fn std_spawn(start: *mut u8) -> bool {
    let begin = arch::clock();
    let mut attempt = 0_u32;
    loop {
        let is_taken = threads().iter().skip(1).any(|Thread { word, .. }| {
            // Relaxed: only looks for a word to try. Edge `T2`, release: pairs with the acquire in
            // `serve`.
            let is_taken = word.load(Relaxed) == IDLE
                && word.compare_exchange(IDLE, start, Release, Relaxed).is_ok();
            if is_taken {
                std_wake(low_half(word), 1);
            }
            is_taken
        });
        if is_taken || threads().len() < 2 || arch::clock().saturating_sub(begin) > PATIENCE_NANOS {
            return is_taken;
        }
        std_pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}
