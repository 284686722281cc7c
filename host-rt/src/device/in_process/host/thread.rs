//! Device threads: OS threads that run a kernel on a separate stack, whose bounds are known and
//! which a trap can abandon.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use shared_abi::host_arch::{HostArch, ThreadContext};

use super::{active_launches, unattached_threads, wait};
use crate::base::output::printable;
use crate::device::Outcome;

/// The functions that replace special registers and instructions in the code of an image.
pub(super) static SERVICES: HostArch = HostArch {
    context,
    pause: wait::pause,
    wake_host,
    clock,
    trap,
};

/// The state of a device thread while it runs a kernel.
struct Current {
    context: ThreadContext,
    wake_host: *const (dyn Fn() + Send + Sync),
    launched: *const dyn fmt::Display,
    yielder: *const Yielder<(), String>,
}

thread_local! {
    /// The kernel that this thread runs; null outside a kernel. It points into the frame of
    /// [`run`], which waits for the kernel.
    static CURRENT: Cell<*const Current> = const { Cell::new(std::ptr::null()) };
}

/// Runs `kernel` as the thread of `context` on `stack`, whose bounds it adds to the context.
///
/// `launched` names the kernel and its arguments, for a signal that ends the process. Returns the
/// stack for the next thread, and the message of a kernel that trapped. The kernel is `Copy`, since
/// a trap drops nothing on its stack.
///
/// # Safety
/// The frames of `kernel` can be abandoned if it traps, as
/// [`Kernel::launch`](crate::Kernel::launch) and [`call_inline`](crate::Kernel::call_inline)
/// require of their callers. `launched` is valid until this returns.
pub(super) unsafe fn run(
    kernel: impl FnOnce() + Copy + 'static,
    launched: *const dyn fmt::Display,
    mut context: ThreadContext,
    wake_host: &Arc<dyn Fn() + Send + Sync>,
    stack: DefaultStack,
) -> (DefaultStack, Outcome) {
    context.stack_low = stack.limit().get() as u64;
    context.stack_high = stack.base().get() as u64;
    let wake_host = Arc::as_ptr(wake_host);
    // While a kernel waits for others, one of them may run on its thread, like tasks in OpenMP's
    // runtime.
    let outer = CURRENT.get();
    let mut thread: Coroutine<(), String, (), DefaultStack> =
        Coroutine::with_stack(stack, move |yielder, ()| {
            let current = Current {
                context,
                wake_host,
                launched,
                yielder,
            };
            CURRENT.set(&raw const current);
            kernel();
        });
    // Relaxed, also below: only an estimate for waiting threads.
    wait::THREADS.fetch_add(1, Ordering::Relaxed);
    let result = match thread.resume(()) {
        CoroutineResult::Return(()) => Ok(()),
        CoroutineResult::Yield(message) => {
            // SAFETY: the frames on the stack are the kernel's, which by the caller's
            // promise can be abandoned, and that of the closure above, which owns nothing.
            unsafe { thread.force_reset() };
            Err(message.into())
        }
    };
    CURRENT.set(outer);
    wait::THREADS.fetch_sub(1, Ordering::Relaxed);
    (thread.into_stack(), result)
}

/// The kernel that this thread runs, if any.
fn current<'a>() -> Option<&'a Current> {
    // SAFETY: null, or set by `run` to a value that lives while the kernel runs,
    // and only code that the kernel calls on this thread gets here.
    unsafe { CURRENT.get().as_ref() }
}

/// The context of this device thread, and the name of its kernel.
pub(super) fn running<'a>() -> Option<(&'a ThreadContext, &'a dyn fmt::Display)> {
    let current = current()?;
    // SAFETY: valid while the kernel runs, by the promise of `run`'s caller.
    Some((&current.context, unsafe { &*current.launched }))
}

unsafe extern "C" fn context() -> *const ThreadContext {
    match current() {
        Some(current) => &raw const current.context,
        None => unattached_threads::context(),
    }
}

unsafe extern "C" fn wake_host() {
    match current() {
        // SAFETY: `run` borrows the closure for as long as the kernel runs.
        Some(current) => unsafe { (*current.wake_host)() },
        None => active_launches::wake_host(),
    }
}

unsafe extern "C" fn clock() -> u64 {
    thread_local!(static START: Instant = start());
    START.with(Instant::elapsed).as_nanos() as u64
}

/// The time at which [`clock`] starts.
fn start() -> Instant {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *START.get_or_init(Instant::now)
}

unsafe extern "C" fn trap(message: *const u8, len: u64) -> ! {
    // SAFETY: the image passes a message of `len` bytes; `printable` takes any bytes.
    let message = unsafe { std::slice::from_raw_parts(message, len.min(4096) as usize) };
    // The image's text must not send control characters to terminals.
    let message = String::from_utf8_lossy(&printable(message)).into_owned();
    let Some(current) = current() else {
        end_process(&message)
    };
    // SAFETY: the yielder is alive while its coroutine runs, which is this code.
    unsafe { (*current.yielder).suspend(message) };
    unreachable!("a trapped device thread is never resumed")
}

/// Ends the process: an image's code has trapped on a thread without a kernel, so there is no stack
/// to abandon. Either a kernel has started the thread and waits for it, or the thread runs an
/// initialiser.
#[expect(
    clippy::print_stderr,
    reason = "the process ends here, and a log sink may be missing"
)]
fn end_process(message: &str) -> ! {
    const WHERE: &str = "an image trapped on a thread that runs no kernel, but was perhaps \
                         started by one";
    tracing::error!(message, "{WHERE}");
    eprintln!("{WHERE}: {message}");
    std::process::abort()
}
