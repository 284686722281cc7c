//! Lines for the reader, on the standard output or the standard error.

use std::io::Write;

/// Writes a line. A closed pipe is not an error of the task.
pub(crate) fn line(to: &mut dyn Write, line: &str) {
    let _ = writeln!(to, "{line}");
}
