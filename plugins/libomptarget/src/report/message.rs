//! What users are told on standard error, in LLVM's words where it has some.

use std::fmt::{self, Display};
use std::io::Write;

/// Why an operation was given up; the user has been told what happened.
#[derive(Debug)]
pub(crate) struct Failed;

/// Writes to standard error, without an end of line. Where nobody reads it the program goes on, as it does with C's.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    let _ = std::io::stderr().write_fmt(text);
}

fn line(text: fmt::Arguments<'_>) {
    // In one piece, as far as the system has it: other threads write, too.
    write(format_args!("{text}\n"));
}

/// Writes a line to standard output, for programs that ask for it there.
pub(crate) fn print(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Something is wrong, and what it is.
pub(crate) fn error(text: &str) -> Failed {
    line(format_args!("omptarget error: {text}"));
    Failed
}

/// Something is worth knowing.
pub(crate) fn message(text: &str) {
    line(format_args!("omptarget message: {text}"));
}

/// A line that `LIBOMPTARGET_INFO` asked for.
pub(crate) fn info(device: impl Display, text: &str) {
    line(format_args!("omptarget device {device} info: {text}"));
}

/// Such a line that is about no device by itself.
pub(crate) fn about(text: &str) {
    line(format_args!("omptarget info: {text}"));
}

/// Such a line of what lies below the runtime proper.
pub(crate) fn device_info(device: usize, text: &str) {
    line(format_args!(
        "\"PluginInterface\" device {device} info: {text}"
    ));
}

/// Ends the process, as LLVM's runtime does: with SIGABRT.
pub(crate) fn fatal(number: i64, text: &str) -> ! {
    line(format_args!("omptarget fatal error {number}: {text}"));
    std::process::abort()
}
