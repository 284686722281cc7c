//! Messages before a kernel's fault ends the process: device threads are threads of the process, so
//! an invalid address in a kernel is a fault of the process. The handler prints the kernel and its
//! arguments on the standard error, and then passes the signal on.

use std::ffi::{c_int, c_void};
use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use shared_abi::host_arch::ThreadContext;
use targets::count::Count;

use super::thread;

/// The signals for faults, by name.
const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
];

/// The previous action for each of [`SIGNALS`].
static BEFORE: [OnceLock<libc::sigaction>; SIGNALS.len()] =
    [const { OnceLock::new() }; SIGNALS.len()];

/// Installs the handlers.
pub(super) fn watch() {
    for ((signal, _), before) in SIGNALS.into_iter().zip(&BEFORE) {
        before.get_or_init(|| {
            // SAFETY: plain data, which may be zeros.
            let (mut ours, mut old): (libc::sigaction, libc::sigaction) =
                unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
            ours.sa_sigaction = handle as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: both are valid; the handler has the signature that SA_SIGINFO requires and
            // only does what a handler may.
            unsafe { libc::sigaction(signal, &raw const ours, &raw mut old) };
            old
        });
    }
}

/// Prints the kernel that this thread runs, if any, and passes the signal on to the previous
/// handler.
///
/// It neither allocates nor waits for a lock, since the fault may lie within an allocator or a
/// lock.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the thread's own variable, always valid.
    let errno = unsafe { *libc::__errno_location() };
    let known = SIGNALS.iter().position(|(number, _)| *number == signal);
    // SAFETY: the system passes a valid description of the signal.
    let address = unsafe { (*info).si_addr() as u64 };
    if let Some(index) = known
        && let Some((thread, launched)) = thread::running()
    {
        let mut text = Text::default();
        let _ = describe(&mut text, SIGNALS[index].1, address, thread, launched);
        text.write_out();
    }
    let before = known.and_then(|index| BEFORE[index].get());
    // SAFETY: `errno` is the thread's own variable; the other arguments are those of this handler.
    unsafe {
        *libc::__errno_location() = errno;
        pass_on(before, signal, info, context);
    }
}

/// Performs the signal's previous action `before`, or else the system's default.
///
/// # Safety
/// All but `before` are the arguments of a signal handler.
unsafe fn pass_on(
    before: Option<&libc::sigaction>,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    let handler = before.map(|before| (before.sa_sigaction, before.sa_flags & libc::SA_SIGINFO));
    // SAFETY: the system's description is valid.
    let is_sent = unsafe { (*info).si_code } <= 0;
    match handler {
        Some((libc::SIG_IGN, _)) if is_sent => {}
        None | Some((libc::SIG_DFL | libc::SIG_IGN, _)) => {
            // SAFETY: plain data, for which zeros mean the default action.
            let default: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: a valid action. The faulting instruction is executed again, and raises the
            // signal again; a signal that was sent is raised here, and arrives when the handler has
            // returned.
            unsafe {
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
                if is_sent {
                    libc::raise(signal);
                }
            }
        }
        Some((handler, 0)) => {
            // SAFETY: without SA_SIGINFO a handler has this type.
            unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler)(signal) }
        }
        Some((handler, _)) => {
            type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            // SAFETY: with SA_SIGINFO a handler has this type.
            unsafe { std::mem::transmute::<usize, Handler>(handler)(signal, info, context) }
        }
    }
}

fn describe(
    text: &mut Text,
    signal: &str,
    address: u64,
    context: &ThreadContext,
    launched: &dyn fmt::Display,
) -> fmt::Result {
    write!(
        text,
        "{launched}: {signal} at address {address:#x}, in thread {} of team {}",
        context.thread, context.team
    )?;
    // The lowest page of a stack is inaccessible.
    let guard = context.stack_low..context.stack_low.saturating_add(device_arena::page_size());
    if guard.contains(&address) {
        text.write_str("; its stack is full (REVOFF_HOST_STACK, or --stack for a program)")?;
    }
    text.write_str("\n")
}

/// A message of bounded size, cut at the end.
struct Text {
    bytes: [u8; 1024],
    len: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            bytes: [0; 1024],
            len: 0,
        }
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - self.len;
        let part = &text.as_bytes()[..room.min(text.len())];
        self.bytes[self.len..self.len + part.len()].copy_from_slice(part);
        self.len += part.len();
        Ok(())
    }
}

impl Text {
    /// Writes the text to the standard error, as a signal handler may.
    fn write_out(&self) {
        // SAFETY: the buffer has this many bytes. A failed write has no remedy.
        unsafe { libc::write(libc::STDERR_FILENO, self.bytes.as_ptr().cast(), self.len) };
    }
}

/// Arguments in a message: `0x5 (4 bytes), 0x7f0000001000 (8 bytes)`; the first eight bytes of
/// each.
pub(super) struct Arguments<I>(pub(super) I);

impl<'a, I: Iterator<Item = &'a [u8]> + Clone> fmt::Display for Arguments<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, bytes) in self.0.clone().enumerate() {
            let mut word = [0; 8];
            let len = bytes.len().min(8);
            word[..len].copy_from_slice(&bytes[..len]);
            let comma = if index == 0 { "" } else { ", " };
            let (value, size) = (u64::from_le_bytes(word), Count(bytes.len() as u64, "byte"));
            write!(f, "{comma}{value:#x} ({size})")?;
        }
        Ok(())
    }
}
