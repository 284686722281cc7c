//! Kernels of target tasks. They work on `count` words each.

use conformance_calls::act;
use revoff_device::thread;

/// The indices of this thread's elements.
fn mine(count: u64) -> impl Iterator<Item = usize> {
    let threads = thread::teams() as usize * thread::threads() as usize;
    (thread::global() as usize..count as usize).step_by(threads)
}

/// `to[i] = 3 to[i] + from[i] + add`, wrapping.
///
/// # Safety
/// Both have `count` words; no other thread uses those of `to`.
unsafe fn mix_words(to: *mut u64, from: *const u64, count: u64, add: u64) {
    for i in mine(count) {
        // SAFETY: the caller's promise; each thread has elements of its own.
        unsafe {
            let sum = (*from.add(i)).wrapping_add(add);
            *to.add(i) = (*to.add(i)).wrapping_mul(3).wrapping_add(sum);
        }
    }
}

/// `to[i] = 3 to[i] + from[i] + add`, wrapping.
///
/// # Safety
/// Both have `count` words; no other thread uses those of `to`.
#[revoff_device::kernel]
pub unsafe fn mix(to: *mut u64, from: *const u64, count: u64, add: u64) {
    // SAFETY: the caller promises both blocks of `count` words.
    unsafe { mix_words(to, from, count, add) };
}

/// Like `mix`, with the host's answer to `add`; nothing if the call fails.
///
/// # Safety
/// As for `mix`.
#[revoff_device::kernel]
pub unsafe fn mix_with_host(to: *mut u64, from: *const u64, count: u64, add: u64) {
    if let Ok(answer) = act(add) {
        // SAFETY: the caller promises both blocks of `count` words.
        unsafe { mix_words(to, from, count, answer) };
    }
}

/// Like `mix_with_host`; then each thread calls `act` again.
///
/// # Safety
/// As for `mix`.
#[revoff_device::kernel]
pub unsafe fn mix_between_calls(to: *mut u64, from: *const u64, count: u64, add: u64) {
    if let Ok(answer) = act(add) {
        // SAFETY: the caller promises both blocks of `count` words.
        unsafe { mix_words(to, from, count, answer) };
        let _ = act(add);
    }
}

/// Like `mix`, then panics.
///
/// # Safety
/// As for `mix`.
#[revoff_device::kernel]
pub unsafe fn mix_and_trap(to: *mut u64, from: *const u64, count: u64, add: u64) {
    // SAFETY: the caller promises both blocks of `count` words.
    unsafe { mix_words(to, from, count, add) };
    panic!("mixed enough");
}

/// A row of a stencil: `to[i]` is the sum of `from[i]` and the words beside it, with those of
/// `before` and `after` at the ends of the row.
///
/// # Safety
/// All have `count` words, at least one; no other thread uses those of `to`.
#[revoff_device::kernel]
pub unsafe fn stencil(
    to: *mut u64,
    before: *const u64,
    from: *const u64,
    after: *const u64,
    count: u64,
) {
    let count = count as usize;
    for i in mine(count as u64) {
        // SAFETY: the caller's promise; each thread has elements of its own.
        unsafe {
            let left = match i {
                0 => *before.add(count - 1),
                i => *from.add(i - 1),
            };
            let right = match i + 1 {
                next if next == count => *after,
                next => *from.add(next),
            };
            *to.add(i) = left.wrapping_add(*from.add(i)).wrapping_add(right);
        }
    }
}

/// `to[i] += add`, wrapping, with a delay between reading and writing.
///
/// # Safety
/// There are `count` words, which no other thread uses.
#[revoff_device::kernel]
pub unsafe fn add_slowly(to: *mut u64, count: u64, add: u64) {
    for i in mine(count) {
        // SAFETY: the caller's promise; each thread has elements of its own.
        unsafe {
            let before = *to.add(i);
            // A generator whose state is never 0, which the compiler does not know.
            let mut state = before | 1;
            for _ in 0..100 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
            }
            let add = if state == 0 { 0 } else { add };
            *to.add(i) = before.wrapping_add(add);
        }
    }
}
