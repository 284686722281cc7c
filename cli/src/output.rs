//! The command's output: answers on the standard output, everything else on the standard error, and
//! the exit code.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::error::{ContextKind, ContextValue};
use revoff_host::{LaunchError, RuntimeError};
use revoff_isolate::Error as IsolationError;
use serde::Serialize;

use crate::error::MissingFunction;

/// The default log filter: only lost output, which nothing else reports.
pub(crate) const SHOWN: &str = "revoff_host::base::output=error";

/// The kernel, or a call that it made, failed.
const KERNEL_FAILED: u8 = 1;

/// The command line, the environment or a file is invalid.
const BAD_INPUT: u8 = 2;

/// Prints an answer.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("cannot write the standard output")
}

/// Prints an answer as JSON.
pub(crate) fn json(answer: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(answer)?;
    text.push('\n');
    print(&text)
}

/// Prints a message that is not an answer.
#[expect(clippy::print_stderr, reason = "a command's messages go there")]
pub(crate) fn say(message: &str) {
    eprintln!("revoff: {message}");
}

/// Prints lines that are not an answer.
#[expect(
    clippy::print_stderr,
    reason = "only answers go to the standard output"
)]
pub(crate) fn note(lines: &str) {
    eprint!("{lines}");
}

/// Reports an error; returns the exit status.
pub(crate) fn failed(error: &anyhow::Error) -> u8 {
    // The reader of the answer has closed the pipe: not a failure.
    let is_closed = |e: &io::Error| e.kind() == ErrorKind::BrokenPipe;
    if error.downcast_ref::<io::Error>().is_some_and(is_closed) {
        return 0;
    }
    let is_deadline = |cause: &(dyn std::error::Error + 'static)| {
        matches!(
            cause.downcast_ref(),
            Some(RuntimeError::Launch(LaunchError::Deadline { .. }))
        )
    };
    if error.chain().any(is_deadline) {
        abandon(&format!("{error:#}"));
    }
    say(&format!("{error:#}"));
    let is_launch = error.chain().any(|cause| {
        cause.is::<LaunchError>()
            || cause.is::<MissingFunction>()
            || matches!(cause.downcast_ref(), Some(RuntimeError::Launch(_)))
            || matches!(
                cause.downcast_ref(),
                Some(IsolationError::Killed { .. } | IsolationError::Exited { .. })
            )
    });
    if is_launch { KERNEL_FAILED } else { BAD_INPUT }
}

/// Ends the command after an invalid command line, or a request for help.
pub(crate) fn usage(mut error: clap::Error) -> ExitCode {
    if error.use_stderr() {
        if error.kind() == clap::error::ErrorKind::ArgumentConflict {
            let remedy = ContextValue::StyledStrs(vec!["leave out one of them".into()]);
            error.insert(ContextKind::Suggested, remedy);
        }
        let text = error.render().to_string();
        let text = text.trim_end();
        say(text.strip_prefix("error: ").unwrap_or(text));
        return ExitCode::from(BAD_INPUT);
    }
    // Help, or the version: an answer. The reader may have closed the pipe.
    let _ = error.print();
    ExitCode::SUCCESS
}

/// Ends the process immediately, with its threads and what the device still does.
pub(crate) fn exit_at_once(status: i32) -> ! {
    revoff_host::telemetry::end();
    // To the process that waits for this one, if this one is isolated. One that is gone does not need it.
    let _ = revoff_isolate::send_result(&[status.to_le_bytes()[0]]);
    // SAFETY: ends the process without destructors and exit handlers, which may not run beside device threads. They
    // have nothing to save: services buffer no output, and timeline and metrics have ended.
    unsafe { libc::_exit(status) }
}

/// Ends the command immediately, without waiting for kernels.
pub(crate) fn abandon(message: &str) -> ! {
    say(message);
    exit_at_once(KERNEL_FAILED.into())
}
