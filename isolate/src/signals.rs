//! Names of signals.

/// The name of a signal that may end a process, and its meaning.
pub(crate) fn describe(signal: i32) -> String {
    let (name, meaning) = match signal {
        libc::SIGSEGV => ("SIGSEGV", "invalid memory access"),
        libc::SIGBUS => ("SIGBUS", "invalid memory access"),
        libc::SIGILL => ("SIGILL", "invalid instruction, or a trap"),
        libc::SIGTRAP => ("SIGTRAP", "a trap"),
        libc::SIGFPE => ("SIGFPE", "invalid arithmetic"),
        libc::SIGABRT => ("SIGABRT", "abort"),
        libc::SIGSYS => ("SIGSYS", "a forbidden system call"),
        // The kernel sends it, too, where memory runs out or a limit of processor time ends.
        libc::SIGKILL => (
            "SIGKILL",
            "by a process, or memory or processor time ran out",
        ),
        libc::SIGTERM => ("SIGTERM", "by a process"),
        libc::SIGINT => ("SIGINT", "interrupted"),
        libc::SIGHUP => ("SIGHUP", "the terminal was closed"),
        libc::SIGPIPE => ("SIGPIPE", "a closed pipe"),
        libc::SIGQUIT => ("SIGQUIT", "a terminal's quit key"),
        libc::SIGALRM => ("SIGALRM", "a timer"),
        libc::SIGUSR1 => ("SIGUSR1", "by a process"),
        libc::SIGUSR2 => ("SIGUSR2", "by a process"),
        libc::SIGXFSZ => ("SIGXFSZ", "file size exceeded"),
        libc::SIGXCPU => ("SIGXCPU", "processor time exceeded"),
        _ => return format!("signal {signal}"),
    };
    format!("{name} ({meaning})")
}
