//! What users are told on standard error, in LLVM's words where it has some.

#![allow(
    clippy::print_stderr,
    reason = "this stands in for a C runtime, whose messages programs' users look for there"
)]

use std::fmt::Display;

use crate::abi::Ident;
use crate::registry;
use crate::settings::{self, Info};
use crate::source::Place;

/// Why an operation was given up; the user has been told what happened.
#[derive(Debug)]
pub(crate) struct Failed;

/// Something is wrong, and what it is.
pub(crate) fn error(text: &str) -> Failed {
    eprintln!("omptarget error: {text}");
    Failed
}

/// Something is worth knowing.
pub(crate) fn message(text: &str) {
    eprintln!("omptarget message: {text}");
}

/// A line that `LIBOMPTARGET_INFO` asked for.
pub(crate) fn info(device: impl Display, text: &str) {
    eprintln!("omptarget device {device} info: {text}");
}

/// Such a line of what lies below the runtime proper.
pub(crate) fn device_info(device: usize, text: &str) {
    eprintln!("\"PluginInterface\" device {device} info: {text}");
}

/// Ends the process, as LLVM's runtime does: with SIGABRT.
pub(crate) fn fatal(number: i64, text: &str) -> ! {
    eprintln!("omptarget fatal error {number}: {text}");
    std::process::abort()
}

/// Ends a construct: where it failed there is no going on, since a host version that ran now
/// could work on half of the data.
pub(crate) fn outcome(result: Result<(), Failed>, at: *const Ident) {
    let dumps = settings::info().has(Info::TABLES);
    if dumps {
        registry::dump_tables(at);
    }
    if result.is_ok() {
        return;
    }
    if !dumps {
        error("Consult https://openmp.llvm.org/design/Runtimes.html for debugging options.\n");
    }
    // SAFETY: what compilers hand over is null or such a place.
    match unsafe { Place::of(at) } {
        Some(place) => eprint!("{place}: "),
        None => {
            error(
                "Source location information not present. Compile with -g or -gline-tables-only.",
            );
        }
    }
    fatal(
        1,
        "failure of target construct while offloading is mandatory",
    )
}
