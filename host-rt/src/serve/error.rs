//! Errors of calls and launches.

use targets::count::Count;

use crate::base::debug_as_display;

/// The failure of a call from a kernel.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No registered function has the function word.
    #[error(
        "host function {word:#x}{} is not registered: add it to the functions that the image is \
         loaded with",
        name.as_ref().map(|n| format!(" (`{n}`)")).unwrap_or_default()
    )]
    NoSuchFunction {
        /// The function word.
        word: u64,
        /// The image's name for the function, if it has one.
        name: Option<String>,
    },
    /// An argument could not be mapped.
    #[error("cannot call host function `{function}`: {reason}")]
    Refused {
        /// The function.
        function: String,
        /// The argument, and the reason.
        reason: String,
    },
    /// The function returned an error.
    #[error("host function `{function}` failed: {message}")]
    Failed {
        /// The function.
        function: String,
        /// Its error.
        message: String,
    },
    /// The function panicked.
    #[error("host function `{function}` panicked: {message}")]
    Panicked {
        /// The function.
        function: String,
        /// The panic's message.
        message: String,
    },
    /// A message on the wire was invalid, or a request could not be served or completed.
    #[error("wire `{wire}`: {reason}")]
    Protocol {
        /// The wire.
        wire: &'static str,
        /// The reason.
        reason: String,
    },
    /// The runtime was shut down before the call was served.
    #[error("cannot call host function {word:#x}: the runtime is shutting down")]
    ShuttingDown {
        /// The function word.
        word: u64,
    },
}

/// The failure of a launch.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The kernel aborted itself, or the device aborted it.
    #[error(
        "kernel `{kernel}`: {message}{}",
        failed_call.as_ref().map(|call| format!("; before that, {call}")).unwrap_or_default()
    )]
    Fault {
        /// The kernel.
        kernel: String,
        /// The device's message.
        message: String,
        /// The first failed call of the kernel, which may be the reason why it aborted itself.
        failed_call: Option<CallError>,
    },
    /// The kernel has not ended in time. It still runs, and its memory stays allocated for the life
    /// of the process.
    #[error(
        "kernel `{kernel}` has not ended after {after:?}, its deadline (REVOFF_DEADLINE or \
         `Builder::deadline`); {}",
        if pending.is_empty() {
            "no host function is running".to_owned()
        } else {
            format!("pending on the host: {}", pending.join(", "))
        }
    )]
    Deadline {
        /// The kernel.
        kernel: String,
        /// The time limit of the deadline.
        after: std::time::Duration,
        /// The host functions of all kernels on the device that have not returned, the standard
        /// output if text is still being written there, and the limits that calls have reached.
        pending: Vec<String>,
    },
    /// The kernel has ended, but its text could not be written by the deadline.
    #[error(
        "kernel `{kernel}` has ended, but the standard output has not accepted its text within \
         {after:?}, its deadline (REVOFF_DEADLINE or `Builder::deadline`): read the standard output \
         to its end"
    )]
    Output {
        /// The kernel.
        kernel: String,
        /// The time limit of the deadline.
        after: std::time::Duration,
    },
    /// Calls of the kernel failed; the kernel itself ran to its end.
    #[error(
        "kernel `{kernel}`: {first}{}",
        match failed.saturating_sub(1) {
            0 => String::new(),
            more => format!(" (and {})", Count(more, "more failed call")),
        }
    )]
    Call {
        /// The kernel.
        kernel: String,
        /// The first failed call.
        first: CallError,
        /// Number of failed calls.
        failed: u64,
    },
}

debug_as_display!(CallError LaunchError);
