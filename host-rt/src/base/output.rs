//! The standard output and error, for the text of device code.

use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

unsafe extern "C" {
    /// C's standard output.
    static stdout: *mut libc::FILE;
}

/// A standard stream of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The standard output.
    #[default]
    Output,
    /// The standard error.
    Error,
}

impl Stream {
    /// Its name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Output => "the standard output",
            Self::Error => "the standard error",
        }
    }

    const fn descriptor(self) -> c_int {
        match self {
            Self::Output => libc::STDOUT_FILENO,
            Self::Error => libc::STDERR_FILENO,
        }
    }
}

/// Prints `text` as output of the program, like NVIDIA's driver and GCC's plugins. It first flushes
/// C's standard output, and does not use Rust's handle, whose lock the program may hold while it
/// waits for the kernel. On a terminal, control characters are escaped: a device is not trusted
/// with the terminal either.
pub(crate) fn print(stream: Stream, text: &[u8]) {
    static LOST: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
    // Relaxed, here and at the load: a count for messages.
    WRITERS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: `isatty` takes any number as a descriptor.
    let is_terminal = unsafe { libc::isatty(stream.descriptor()) } == 1;
    let text = if is_terminal {
        printable(text)
    } else {
        Cow::Borrowed(text)
    };
    let written = match stream {
        Stream::Output => write_stdout(&text),
        Stream::Error => write_stderr(&text),
    };
    // Relaxed: the first thread that fails reports it, and the flag guards nothing else.
    if let Err(error) = written
        && !LOST[stream as usize].swap(true, Ordering::Relaxed)
    {
        let stream = stream.name();
        tracing::error!(%error, "output of kernels is lost: writing to {stream} failed");
    }
    WRITERS.fetch_sub(1, Ordering::Relaxed);
}

/// The number of threads that are printing.
static WRITERS: AtomicUsize = AtomicUsize::new(0);

/// Whether text is being written. The standard output may block its writer.
pub(crate) fn is_writing() -> bool {
    WRITERS.load(Ordering::Relaxed) > 0
}

/// Writes to the standard output, after flushing C's.
pub(crate) fn write_stdout(text: &[u8]) -> std::io::Result<()> {
    // SAFETY: C has opened it before any of this runs; the function locks the stream.
    while unsafe { libc::fflush(stdout) } != 0 {
        wait_to_retry(libc::STDOUT_FILENO)?;
    }
    write_all(libc::STDOUT_FILENO, text)
}

/// Writes to the standard error, which C does not buffer.
pub(crate) fn write_stderr(text: &[u8]) -> std::io::Result<()> {
    write_all(libc::STDERR_FILENO, text)
}

fn write_all(descriptor: c_int, mut text: &[u8]) -> std::io::Result<()> {
    while !text.is_empty() {
        let from = text.as_ptr().cast::<c_void>();
        // SAFETY: the pointer and the length are those of a slice.
        let count = unsafe { libc::write(descriptor, from, text.len()) };
        match usize::try_from(count) {
            Ok(count) => text = &text[count..],
            Err(_) => wait_to_retry(descriptor)?,
        }
    }
    Ok(())
}

/// After a failed write: waits until it may be retried, or returns the permanent error.
fn wait_to_retry(descriptor: c_int) -> std::io::Result<()> {
    let error = std::io::Error::last_os_error();
    match error.kind() {
        ErrorKind::Interrupted => {}
        ErrorKind::WouldBlock => wait_until_ready(descriptor),
        _ => return Err(error),
    }
    Ok(())
}

/// Waits until a non-blocking output accepts text.
fn wait_until_ready(descriptor: c_int) {
    let mut output = libc::pollfd {
        fd: descriptor,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one descriptor, to which the function writes its result. The result is ignored, since
    // the next write reports errors.
    unsafe { libc::poll(&raw mut output, 1, -1) };
}

/// `text` with escapes, as Rust writes them, for invalid UTF-8 and for all control characters but
/// tabs and ends of lines.
pub(crate) fn printable(text: &[u8]) -> Cow<'_, [u8]> {
    let is_kept = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if str::from_utf8(text).is_ok_and(|text| text.chars().all(is_kept)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_kept(c) {
                escaped.push(c);
            } else {
                escaped.extend(c.escape_default());
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\x{byte:02x}");
        }
    }
    Cow::Owned(escaped.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        let text = |bytes: &[u8]| String::from_utf8(printable(bytes).into_owned()).unwrap();
        assert_eq!(
            text("Grüße\tand\nmore 💾\n".as_bytes()),
            "Grüße\tand\nmore 💾\n"
        );
        assert_eq!(
            text(b"\x1b]0;title\x07 \x1b[2J"),
            "\\u{1b}]0;title\\u{7} \\u{1b}[2J"
        );
        assert_eq!(text(b"over\rwritten\x08\0"), "over\\rwritten\\u{8}\\u{0}");
        // 8-bit control characters, as characters and as single bytes.
        assert_eq!(text("\u{9b}31m".as_bytes()), "\\u{9b}31m");
        assert_eq!(text(b"\x9b31m"), "\\x9b31m");
    }
}
