//! Messages on standard error, in LLVM's words if it has some.

use std::fmt::{self, Display};
use std::io::Write;

use revoff_host::Chain;

/// A failed operation whose error has been reported.
#[derive(Debug)]
pub(crate) struct Failed;

/// Writes to standard error, without an end of line. Errors are ignored, as by C's functions.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    let _ = std::io::stderr().write_fmt(text);
}

fn line(text: fmt::Arguments<'_>) {
    // In one write, as far as the system allows: other threads write too.
    write(format_args!("{text}\n"));
}

/// Writes a line to standard output, for programs that ask for it there.
pub(crate) fn print(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Reports an error.
pub(crate) fn error(text: &str) -> Failed {
    line(format_args!("omptarget error: {text}"));
    Failed
}

/// Reports an error with its sources.
pub(crate) fn failure(error: &dyn std::error::Error) -> Failed {
    self::error(&Chain(error).to_string())
}

/// Reports a message.
pub(crate) fn message(text: &str) {
    line(format_args!("omptarget message: {text}"));
}

/// Reports a line of `LIBOMPTARGET_INFO`.
pub(crate) fn info(device: impl Display, text: &str) {
    line(format_args!("omptarget device {device} info: {text}"));
}

/// Reports such a line without a device.
pub(crate) fn about(text: &str) {
    line(format_args!("omptarget info: {text}"));
}

/// Reports such a line of the layer below the runtime.
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
