//! Sleeps with precise ends.

/// Asks the system to end this thread's sleeps on time: by default Linux lets
/// them last 50 us longer.
pub(crate) fn sharpen() {
    #[cfg(target_os = "linux")]
    {
        let nanoseconds: libc::c_ulong = 1000;
        // SAFETY: this option takes a number and accesses no memory. If it fails, sleeps last
        // longer.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanoseconds) };
    }
}
