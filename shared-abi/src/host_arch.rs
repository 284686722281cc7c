//! The substitutes for special registers and instructions on the `host` device, where a kernel is
//! machine code in a shared object.
//!
//! A `host` kernel is a function `extern "C" fn(params: *const *const c_void)`:
//! `params[i]` points to the value of parameter `i`, as in `cuLaunchKernel`. One that a
//! compiler has made of an OpenMP target region takes integers of 64 bits instead; it is one
//! device thread, and those that it starts itself may call the host, too.

/// A device thread's indices, and the range of its stack.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadContext {
    /// This thread's team, below `teams`.
    pub team: u32,
    /// Number of teams of the launch.
    pub teams: u32,
    /// This thread within its team, below `threads`; of a thread that a kernel has started
    /// itself a number of its own from there on.
    pub thread: u32,
    /// Number of threads of a team.
    pub threads: u32,
    /// Key of the launch that the thread belongs to, which its requests on `native` carry.
    pub launch: u32,
    /// Not used; zero.
    pub reserved: u32,
    /// Lowest address of the thread's stack. The stack is `.local` memory: the
    /// host does not reach it.
    pub stack_low: u64,
    /// One past the highest address of the thread's stack.
    pub stack_high: u64,
}

/// The services of the `host` device to the code of its images, reached through
/// the symbol [`HOST_ARCH`](crate::image::HOST_ARCH).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostArch {
    /// The calling thread's context, valid while the kernel runs; null when the
    /// caller is no device thread, nor can be one that a kernel has started itself.
    pub context: unsafe extern "C" fn() -> *const ThreadContext,
    /// Waits a little, longer the larger `attempt` is.
    pub pause: unsafe extern "C" fn(attempt: u32),
    /// Wakes the host's serving threads: see edge `W1` of
    /// [`WakeWord`](crate::wire::WakeWord).
    pub wake_host: unsafe extern "C" fn(),
    /// Nanoseconds since some fixed moment, the same for all threads.
    pub clock: unsafe extern "C" fn() -> u64,
    /// Ends the launch with an error and the calling thread with it; on a thread that
    /// a kernel has started itself, the process. `message` is UTF-8 of `len` bytes, copied
    /// before the thread ends.
    pub trap: unsafe extern "C" fn(message: *const u8, len: u64) -> !,
}

/// The services of the `host` device to threads that wait for each other, reached through the symbol
/// [`HOST_WAIT`](crate::image::HOST_WAIT). Images without them poll.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostWait {
    /// Waits a little while `word` is `expected`, longer the larger `attempt` is, and at most for this
    /// time. Returns 1 if another value or [`wake`](Self::wake) ended the wait, 0 otherwise.
    pub wait: unsafe extern "C" fn(
        word: *const u32,
        expected: u32,
        attempt: u32,
        nanoseconds: u64,
    ) -> u32,
    /// Wakes up to `count` threads that wait for `word`, and returns their number.
    pub wake: unsafe extern "C" fn(word: *const u32, count: u32) -> u32,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<ThreadContext>() == 40 && align_of::<ThreadContext>() == 8);
    assert!(offset_of!(ThreadContext, team) == 0);
    assert!(offset_of!(ThreadContext, teams) == 4);
    assert!(offset_of!(ThreadContext, thread) == 8);
    assert!(offset_of!(ThreadContext, threads) == 12);
    assert!(offset_of!(ThreadContext, launch) == 16);
    assert!(offset_of!(ThreadContext, reserved) == 20);
    assert!(offset_of!(ThreadContext, stack_low) == 24);
    assert!(offset_of!(ThreadContext, stack_high) == 32);
};

// A table of function pointers has the pointer width of its machine; a `host`
// image and its host are the same machine by construction.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<HostArch>() == 40 && align_of::<HostArch>() == 8);
    assert!(offset_of!(HostArch, context) == 0);
    assert!(offset_of!(HostArch, pause) == 8);
    assert!(offset_of!(HostArch, wake_host) == 16);
    assert!(offset_of!(HostArch, clock) == 24);
    assert!(offset_of!(HostArch, trap) == 32);
    assert!(size_of::<HostWait>() == 16 && align_of::<HostWait>() == 8);
    assert!(offset_of!(HostWait, wait) == 0);
    assert!(offset_of!(HostWait, wake) == 8);
};
