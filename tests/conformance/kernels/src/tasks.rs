//! Kernels of target tasks. They work on `count` words each.

use conformance_calls::act;
use device_rt::thread;

/// The elements of this thread.
fn mine(count: u64) -> impl Iterator<Item = usize> {
    let threads = thread::teams() as usize * thread::threads() as usize;
    (thread::global() as usize..count as usize).step_by(threads)
}

/// `to[i] = 3 to[i] + from[i] + add`, wrapping.
///
/// # Safety
/// Both have so many words; nobody else uses those of `to`.
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
/// Both have so many words; nobody else uses those of `to`.
#[device_rt::kernel]
pub unsafe fn mix(to: *mut u64, from: *const u64, count: u64, add: u64) {
    // SAFETY: passed on.
    unsafe { mix_words(to, from, count, add) };
}

/// As `mix`, with what the host answers to `add`, or nothing where it fails.
///
/// # Safety
/// As for `mix`.
#[device_rt::kernel]
pub unsafe fn mix_with_host(to: *mut u64, from: *const u64, count: u64, add: u64) {
    if let Ok(answer) = act(add) {
        // SAFETY: passed on.
        unsafe { mix_words(to, from, count, answer) };
    }
}

/// As `mix_with_host`; then each thread calls `act` again.
///
/// # Safety
/// As for `mix`.
#[device_rt::kernel]
pub unsafe fn mix_between_calls(to: *mut u64, from: *const u64, count: u64, add: u64) {
    if let Ok(answer) = act(add) {
        // SAFETY: passed on.
        unsafe { mix_words(to, from, count, answer) };
        let _ = act(add);
    }
}

/// As `mix`, then panics.
///
/// # Safety
/// As for `mix`.
#[device_rt::kernel]
pub unsafe fn mix_and_trap(to: *mut u64, from: *const u64, count: u64, add: u64) {
    // SAFETY: passed on.
    unsafe { mix_words(to, from, count, add) };
    panic!("mixed enough");
}

/// A row of a stencil: `to[i]` is the sum of `from[i]` and the words beside it, of `before`
/// and `after` where the row ends.
///
/// # Safety
/// All have so many words, at least one; nobody else uses those of `to`.
#[device_rt::kernel]
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

/// `to[i] += add`, wrapping, with something between reading and writing.
///
/// # Safety
/// There are so many words, which nobody else uses.
#[device_rt::kernel]
pub unsafe fn add_slowly(to: *mut u64, count: u64, add: u64) {
    for i in mine(count) {
        // SAFETY: the caller's promise; each thread has elements of its own.
        unsafe {
            let before = *to.add(i);
            // A generator whose state is never 0, which no compiler knows.
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
