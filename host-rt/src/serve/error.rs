//! Errors of calls and launches.

use std::error::Error;
use std::sync::Arc;

use targets::count::Count;

use crate::base::{Chain, debug_as_display};
use crate::device::{DeviceError, Fault};
use crate::map::MapError;
use crate::wire::{ArgsError, ProtocolError};

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
    /// The arguments are invalid, or could not be read.
    #[error("cannot call host function `{function}`: {}", Chain(&**reason))]
    Args {
        /// The function.
        function: String,
        /// The reason, which the message includes.
        reason: Arc<ArgsError>,
    },
    /// An argument could not be mapped, or a result not copied back.
    #[error("cannot call host function `{function}`: {}", Chain(&**reason))]
    Map {
        /// The function.
        function: String,
        /// The reason, which the message includes.
        reason: Arc<MapError>,
    },
    /// The arguments are not those of the function's declaration.
    #[error("cannot call host function `{function}`: {reason}")]
    BadArguments {
        /// The function.
        function: String,
        /// The difference, which the message includes.
        reason: revoff_fn::Failure,
    },
    /// An argument of a typed function is mapped host memory.
    #[error(
        "cannot call host function `{function}`: argument {argument} is mapped host memory, which \
         other calls may use: pass other memory, or register a raw function"
    )]
    SharedArgument {
        /// The function.
        function: String,
        /// The argument's index.
        argument: usize,
    },
    /// The other runtime to which the function belongs did not run it.
    #[error("cannot call host function `{function}`: {}", Chain(&**reason))]
    Foreign {
        /// The function.
        function: String,
        /// That runtime's error, which the message includes.
        reason: Arc<dyn Error + Send + Sync>,
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
    /// The future of the asynchronous function was dropped before it was ready.
    #[error(
        "the future of host function `{function}` was dropped before it was ready: keep its executor \
         running until the launch has ended"
    )]
    Dropped {
        /// The function.
        function: String,
    },
    /// The executor of the asynchronous function did not take its future.
    #[error("the executor of host function `{function}` panicked: {message}")]
    NotSpawned {
        /// The function.
        function: String,
        /// The panic's message.
        message: String,
    },
    /// A message on the wire was invalid.
    #[error("wire `{wire}`: {reason}")]
    Protocol {
        /// The wire.
        wire: &'static str,
        /// The reason, which the message includes.
        reason: ProtocolError,
    },
    /// A request could not be served.
    #[error("wire `{wire}`: serving a request panicked: {message}")]
    NotServed {
        /// The wire.
        wire: &'static str,
        /// The panic's message.
        message: String,
    },
    /// A request could not be completed.
    #[error("wire `{wire}`: {}", Chain(&**reason))]
    NotCompleted {
        /// The wire.
        wire: &'static str,
        /// The device's error, which the message includes.
        reason: Arc<DeviceError>,
    },
    /// The launch was aborted before the function returned, or before it was called.
    #[error(
        "the call of host function `{function}` was aborted: its launch has passed its deadline or \
         was aborted"
    )]
    Aborted {
        /// The function.
        function: String,
    },
    /// Calls whose functions wait for kernels kept all of a resource that calls of those kernels need.
    #[error(
        "the call of host function `{function}` was aborted: it waits for a kernel, as do all calls that \
         keep {resource}, and nothing else has happened for {after:?} (REVOFF_DEADLOCK_TIMEOUT): raise \
         that limit, or let fewer host functions wait for kernels at a time"
    )]
    Deadlock {
        /// The function.
        function: String,
        /// The resource, with its size and the variable that sets it, if there is one.
        resource: Box<str>,
        /// The time without progress after which the call was aborted.
        after: std::time::Duration,
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
        "kernel `{kernel}`: {fault}{}",
        failed_call.as_ref().map(|call| format!("; before that, {call}")).unwrap_or_default()
    )]
    Fault {
        /// The kernel.
        kernel: String,
        /// The device's message, and whether the device is lost.
        fault: Fault,
        /// The first failed call of the kernel, which may be the reason why it aborted itself.
        failed_call: Option<CallError>,
    },
    /// The kernel has not ended in time. Unless it is a task's, its calls were
    /// [aborted](crate::Launch::abort). Unless it `has_ended` since, it still runs. Then memory that
    /// was allocated before, and the launch and its program, stay allocated for the life of the process
    /// if they are dropped while it runs.
    #[error(
        "kernel `{kernel}` has not ended after {after:?}, its deadline (set by \
         REVOFF_DEADLINE or the program); {}{}",
        if pending.is_empty() {
            "no host function is running".to_owned()
        } else {
            format!("pending on the host: {}", pending.join(", "))
        },
        if *has_ended { "; its calls were aborted, and it has ended" } else { "" },
    )]
    Deadline {
        /// The kernel.
        kernel: String,
        /// The time limit of the deadline.
        after: std::time::Duration,
        /// The host functions of all kernels on the device that have not returned, the standard
        /// output if text is still being written there, and the limits that calls have reached.
        pending: Vec<String>,
        /// Whether the kernel has ended since, because its calls were aborted.
        has_ended: bool,
    },
    /// The wait for the kernel was [interrupted](crate::TypedKernel::launch_watched). Its calls were
    /// [aborted](crate::Launch::abort). Unless it `has_ended` since, it still runs, and memory stays
    /// allocated as after a deadline.
    #[error(
        "the wait for kernel `{kernel}` was interrupted; {}",
        if *has_ended { "its calls were aborted, and it has ended" } else { "it still runs" },
    )]
    Interrupted {
        /// The kernel.
        kernel: String,
        /// Whether the kernel has ended since.
        has_ended: bool,
    },
    /// The kernel has ended, but its text could not be written by the deadline.
    #[error(
        "kernel `{kernel}` has ended, but the standard output has not accepted its text within \
         {after:?}, its deadline (set by REVOFF_DEADLINE or the program): read the standard output \
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceAddr;
    use crate::wire::ArgsError;

    #[test]
    fn a_failed_call_tells_and_keeps_all_reasons() {
        let reason = ArgsError::Arrays(DeviceError::Unreachable {
            address: DeviceAddr(0x1000),
            len: 8,
            what: "freed memory",
        });
        let error = CallError::Args {
            function: "f".to_owned(),
            reason: Arc::new(reason),
        };
        let text = error.to_string();
        assert!(text.contains("cannot read the argument arrays: "), "{text}");
        assert!(text.contains("0x1000"), "{text}");
        let CallError::Args { reason, .. } = &error else {
            unreachable!("created above")
        };
        assert!(
            reason
                .source()
                .is_some_and(|source| source.is::<DeviceError>())
        );

        let foreign = std::io::Error::other(crate::serve::LaunchError::Output {
            kernel: "k".to_owned(),
            after: std::time::Duration::ZERO,
        });
        let error = CallError::Foreign {
            function: "f".to_owned(),
            reason: Arc::new(RuntimeFailed(foreign)),
        };
        let text = error.to_string();
        assert!(
            text.starts_with("cannot call host function `f`: the runtime failed: kernel `k`"),
            "{text}"
        );
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the runtime failed")]
    struct RuntimeFailed(#[source] std::io::Error);
}
