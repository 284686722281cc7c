//! The standard output, for the text of device code.

use std::borrow::Cow;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

unsafe extern "C" {
    /// C's standard output.
    static stdout: *mut libc::FILE;
}

/// Threads that print.
static WRITING: AtomicUsize = AtomicUsize::new(0);

/// Prints it: output of the program, as with NVIDIA's driver and GCC's plugins. Behind what
/// C code of the program has printed before, and not by Rust's handle, whose lock the program
/// may hold while it waits for the kernel. On a terminal, control characters are escaped: a device
/// is no more trusted with it than with the host's memory.
pub(crate) fn print(text: &[u8]) {
    static LOST: AtomicBool = AtomicBool::new(false);
    // SAFETY: asks about a descriptor.
    let is_terminal = unsafe { libc::isatty(libc::STDOUT_FILENO) } == 1;
    let text = if is_terminal {
        printable(text)
    } else {
        Cow::Borrowed(text)
    };
    // Relaxed, here and below: hints.
    WRITING.fetch_add(1, Ordering::Relaxed);
    let written = write(&text);
    WRITING.fetch_sub(1, Ordering::Relaxed);
    if let Err(error) = written
        && !LOST.swap(true, Ordering::Relaxed)
    {
        tracing::warn!(%error, "output of kernels is lost: writing to the standard output failed");
    }
}

/// Writes to the standard output. At most 4096 bytes are one write, which a pipe that is
/// [ready](is_ready) accepts.
fn write(mut text: &[u8]) -> std::io::Result<()> {
    // SAFETY: C has opened it before any of this runs; the function locks the stream.
    if unsafe { libc::fflush(stdout) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    while !text.is_empty() {
        // SAFETY: the bytes are there.
        let count = unsafe {
            libc::write(
                libc::STDOUT_FILENO,
                text.as_ptr().cast::<c_void>(),
                text.len(),
            )
        };
        match usize::try_from(count) {
            Ok(count) => text = &text[count..],
            Err(_) => match std::io::Error::last_os_error() {
                error if error.kind() == ErrorKind::Interrupted => {}
                error if error.kind() == ErrorKind::WouldBlock => {
                    wait_until_ready(-1);
                }
                error => return Err(error),
            },
        }
    }
    Ok(())
}

/// Whether some thread prints right now: where that takes long, the standard output accepts no
/// more.
pub(crate) fn is_writing() -> bool {
    WRITING.load(Ordering::Relaxed) > 0
}

/// Whether the standard output accepts text now: a pipe that does accepts 4096 bytes.
pub(crate) fn is_ready() -> bool {
    wait_until_ready(0)
}

/// Waits so many milliseconds for it, for ever if the number is negative.
fn wait_until_ready(milliseconds: i32) -> bool {
    let mut output = libc::pollfd {
        fd: libc::STDOUT_FILENO,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one descriptor, which the function writes an answer to.
    let count = unsafe { libc::poll(&raw mut output, 1, milliseconds) };
    // Also where it was closed: nothing blocks then.
    count != 0
}

/// `text` with what is no character, and all control characters but tabs and ends of lines,
/// escaped as Rust writes them.
fn printable(text: &[u8]) -> Cow<'_, [u8]> {
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
            // To a string: it cannot fail.
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
        // Control characters of eight bits: as characters, and as bytes alone.
        assert_eq!(text("\u{9b}31m".as_bytes()), "\\u{9b}31m");
        assert_eq!(text(b"\x9b31m"), "\\x9b31m");
    }
}
