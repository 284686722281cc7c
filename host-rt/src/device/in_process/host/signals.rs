//! The last words of a process that a kernel ends: device threads are threads of the process, so
//! an invalid address in a kernel is one of the process. Before the signal does what it did
//! without this module, the kernel and its arguments are named on the standard error.

use std::ffi::{c_int, c_void};
use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use shared_abi::host_arch::ThreadContext;
use targets::count::Count;

use super::thread;

/// The signals of the processor, by their names.
const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
];

/// What each of [`SIGNALS`] did before.
static BEFORE: [OnceLock<libc::sigaction>; SIGNALS.len()] =
    [const { OnceLock::new() }; SIGNALS.len()];

/// Names faults of kernels from now on.
pub(super) fn watch() {
    for ((signal, _), before) in SIGNALS.into_iter().zip(&BEFORE) {
        before.get_or_init(|| {
            // SAFETY: plain data, which may be zeros.
            let (mut ours, mut old): (libc::sigaction, libc::sigaction) =
                unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
            ours.sa_sigaction = handle as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: both are valid; the handler has the signature that SA_SIGINFO asks for and
            // does what a handler may, see there.
            unsafe { libc::sigaction(signal, &raw const ours, &raw mut old) };
            old
        });
    }
}

/// Names the kernel that this thread runs, if any, and passes the signal on to the handler that was
/// there before.
///
/// It allocates nothing and takes no lock that it would wait for, since the fault may lie within
/// an allocator or a lock.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: of this thread, always valid.
    let errno = unsafe { *libc::__errno_location() };
    let known = SIGNALS.iter().position(|(number, _)| *number == signal);
    // SAFETY: the system hands a valid description of the signal.
    let address = unsafe { (*info).si_addr() as u64 };
    if let Some(index) = known
        && let Some((thread, launched)) = thread::running()
    {
        let mut text = Text::default();
        let _ = describe(&mut text, SIGNALS[index].1, address, thread, launched);
        text.write_out();
    }
    let before = known.and_then(|index| BEFORE[index].get());
    // SAFETY: as above; the other three are what the system has handed over.
    unsafe {
        *libc::__errno_location() = errno;
        pass_on(before, signal, info, context);
    }
}

/// Does what the signal did before, by `before`; without it, what the system does.
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
    // SAFETY: the system's.
    let is_sent = unsafe { (*info).si_code } <= 0;
    match handler {
        Some((libc::SIG_IGN, _)) if is_sent => {}
        None | Some((libc::SIG_DFL | libc::SIG_IGN, _)) => {
            // SAFETY: plain data, of which zeros are the system's own action.
            let default: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: a valid action. The instruction is executed again, and raises the signal
            // again; one that was sent is raised here, and comes when the handler has returned.
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
    // The lowest page of a stack cannot be accessed.
    let guard = context.stack_low..context.stack_low.saturating_add(GUARD);
    if guard.contains(&address) {
        text.write_str("; its stack is full (REVOFF_HOST_STACK)")?;
    }
    text.write_str("\n")
}

/// Bytes at the low end of a stack that hold nothing.
const GUARD: u64 = 4096;

/// A message of bounded size, cut where it is full.
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
    /// To the standard error, as a signal handler may.
    fn write_out(&self) {
        // SAFETY: as many bytes are there. What cannot be written is lost.
        unsafe { libc::write(libc::STDERR_FILENO, self.bytes.as_ptr().cast(), self.len) };
    }
}

/// Arguments in a message: `0x5 (4 bytes), 0x7f0000001000 (8 bytes)`; of each the first eight
/// bytes.
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
