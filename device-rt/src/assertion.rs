//! Failed assertions of [`assert!`](crate::assert!) and its relatives.

use core::fmt;
use core::panic::Location;

use crate::arch;
use crate::print::{Stream, formatted};

/// Ends the launch with a panic at the caller's location. Where the panic's message does not reach the
/// host, prints it first, on the standard error.
#[cold]
#[inline(never)]
#[track_caller]
pub fn failed(message: fmt::Arguments<'_>) -> ! {
    let context = arch::context();
    let (thread, team) = (context.thread, context.team);
    if !arch::HAS_MESSAGES {
        let at = Location::caller();
        formatted(
            Stream::Error,
            format_args!("{at}: thread {thread} of team {team}: {message}"),
            true,
        );
    }
    panic!("thread {thread} of team {team}: {message}")
}

/// [`failed`] for a comparison with the operator `operator`.
#[cold]
#[inline(never)]
#[track_caller]
pub fn comparison_failed(
    operator: &str,
    left: &dyn fmt::Debug,
    right: &dyn fmt::Debug,
    message: Option<fmt::Arguments<'_>>,
) -> ! {
    match message {
        Some(message) => failed(format_args!(
            "assertion `left {operator} right` failed: {message}\n  left: {left:?}\n right: {right:?}"
        )),
        None => failed(format_args!(
            "assertion `left {operator} right` failed\n  left: {left:?}\n right: {right:?}"
        )),
    }
}
