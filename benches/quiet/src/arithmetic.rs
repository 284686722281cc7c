//! Some milliseconds of work without memory and without calls.

/// Performs `steps` steps of a generator (xorshift), the same in all threads.
///
/// # Safety
/// `seed` is not 0. Then no state is 0, so that nothing is ever written to `out`; but no compiler
/// knows this, and the work stays.
#[inline(always)]
pub(crate) unsafe fn run(steps: u64, seed: u64, out: *mut u64) {
    let mut state = seed;
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    if state == 0 {
        // SAFETY: not reached, since no state is 0.
        unsafe { out.write(state) };
    }
}
