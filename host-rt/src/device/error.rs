//! Errors of devices.

use std::sync::Arc;

use targets::count::Count;

use crate::base::addr::DeviceAddr;
use crate::base::debug_as_display;

/// The failure of a kernel, or of another operation in a queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It failed; the device's message.
    #[error("{0}")]
    Failed(Arc<str>),
    /// It failed, and the device is lost; the message of [`DeviceError::Lost`].
    #[error("{0}")]
    Lost(Arc<str>),
    /// It was not run, because an operation before it failed; that one's message.
    #[error("not run, because an operation before it failed: {0}")]
    NotRun(Arc<str>),
}

/// The outcome of an operation in a queue.
pub type Outcome = Result<(), Fault>;

impl Fault {
    /// The fault of an operation behind the failed one.
    #[must_use]
    pub fn not_run(&self) -> Self {
        let (Self::Failed(message) | Self::Lost(message) | Self::NotRun(message)) = self;
        Self::NotRun(Arc::clone(message))
    }

    /// The same fault, with `context` before its message.
    #[must_use]
    pub(crate) fn in_context(self, context: &str) -> Self {
        let add = |message: Arc<str>| format!("{context}: {message}").into();
        match self {
            Self::Failed(message) => Self::Failed(add(message)),
            Self::Lost(message) => Self::Lost(add(message)),
            Self::NotRun(message) => Self::NotRun(add(message)),
        }
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        Self::Failed(message.into())
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self::Failed(message.into())
    }
}

impl From<&DeviceError> for Fault {
    fn from(error: &DeviceError) -> Self {
        let message = error.to_string().into();
        match error {
            DeviceError::Lost { .. } => Self::Lost(message),
            _ => Self::Failed(message),
        }
    }
}

/// A failed call of a device's driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {message}")]
pub struct DriverFailure {
    /// The driver's function.
    pub call: &'static str,
    /// Its result: a `CUresult` or an `hsa_status_t`.
    pub code: u32,
    /// The driver's description of the result.
    pub message: String,
}

/// The reason why a device is lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LossReason {
    /// A call of the driver failed.
    #[error(transparent)]
    Driver(#[from] DriverFailure),
    /// The driver reported a fault; its description.
    #[error("{0}")]
    Fault(String),
}

impl From<String> for LossReason {
    fn from(description: String) -> Self {
        Self::Fault(description)
    }
}

/// A device cannot perform an operation. The message is complete: no variant has a
/// [`source`](std::error::Error::source).
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// There is no device of that name.
    #[error("no device `{name}`; available: {available}; names are {names}")]
    NoDevice {
        /// The requested name.
        name: String,
        /// The available devices.
        available: String,
        /// The forms of names.
        names: String,
    },
    /// The machine has no GPU for the device `auto`.
    #[error(
        "device `auto` is a GPU, and there is none ({missing}); name another device, such as `host` or `emu`"
    )]
    NoGpu {
        /// Why, for each kind of GPU.
        missing: String,
    },
    /// A launcher's variable with the local rank is not a number.
    #[error("device `auto`: environment variable {variable}={value:?}: a number expected")]
    LocalRank {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// The device has not enough free memory.
    #[error(
        "device `{device}` cannot allocate {}: {free} of {total} are free{}",
        Count(*bytes, "byte"),
        setting.map(|name| format!(" ({name} sets its size)")).unwrap_or_default()
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// The requested size.
        bytes: u64,
        /// The free bytes.
        free: u64,
        /// The total bytes.
        total: u64,
        /// The environment variable that sets the total, if there is one.
        setting: Option<&'static str>,
    },
    /// The memory could not be allocated for both host and device.
    #[error(
        "device `{device}` cannot map {bytes} bytes of host memory (REVOFF_SLOTS and \
         REVOFF_BOUNCE set the size of the memory for calls; `ulimit -l` may limit it, on emulated GPUs \
         REVOFF_EMU_MEMORY)"
    )]
    NoMappedMemory {
        /// The device.
        device: String,
        /// The requested size.
        bytes: u64,
    },
    /// Devices of this kind need a driver.
    #[error("{device}: {reason}")]
    NoDriver {
        /// The kind of device.
        device: &'static str,
        /// The missing part.
        reason: String,
    },
    /// The device lacks a feature that calls to the host need.
    #[error("cannot use device `{device}`: {reason}")]
    NotSuitable {
        /// The device.
        device: String,
        /// The missing feature.
        reason: String,
    },
    /// The driver reported an error.
    #[error("device `{device}`: {failure}")]
    Driver {
        /// The device.
        device: String,
        /// The call.
        failure: DriverFailure,
    },
    /// An operation in a queue failed.
    #[error("device `{device}`: {fault}")]
    Queued {
        /// The device.
        device: String,
        /// The failure.
        fault: Fault,
    },
    /// The device, or this process's context on it, is gone: a kernel or the hardware faulted.
    #[error(
        "device `{device}` is lost: {reason}; drop everything on it and open it again (in a new \
         process where that is refused), or use another one"
    )]
    Lost {
        /// The device.
        device: String,
        /// The first reason.
        reason: LossReason,
    },
    /// A copy names device memory that the host cannot reach.
    #[error(
        "the host does not reach {} at device address {address}: {what} (a call must send the bytes \
         of such a range along)",
        Count(*len, "byte")
    )]
    Unreachable {
        /// Start of the range.
        address: DeviceAddr,
        /// Length of the range.
        len: u64,
        /// The kind of memory there, as far as the device knows.
        what: &'static str,
    },
    /// A copy exceeds its buffer.
    #[error(
        "cannot copy {} at byte {at}: the buffer has {}",
        Count(*len, "byte"),
        Count(*bytes, "byte")
    )]
    OutOfBuffer {
        /// The start of the range in the buffer.
        at: u64,
        /// Length of the range.
        len: u64,
        /// Size of the buffer.
        bytes: u64,
    },
    /// An operation queued earlier, or one that the queue waits for, failed.
    #[error("an operation queued before has failed: {reason}")]
    DependencyFailed {
        /// Its fault.
        reason: Fault,
    },
    /// A launch with an impossible shape.
    #[error(
        "cannot launch {} of {}: {reason}",
        Count((*teams).into(), "team"),
        Count((*threads).into(), "thread")
    )]
    BadGrid {
        /// Number of teams.
        teams: u32,
        /// Threads of a team.
        threads: u32,
        /// The reason.
        reason: String,
    },
    /// A kernel was launched with parameters that do not match its image.
    #[error(
        "kernel `{kernel}` takes {expected}, but got {found}: launch it with what its definition \
         declares (a slice is two parameters, address and length)"
    )]
    BadParameters {
        /// The kernel.
        kernel: String,
        /// The parameters that it takes.
        expected: String,
        /// The parameters of the launch.
        found: String,
    },
    /// A kernel that is a C function has too many parameters.
    #[error(
        "device `{device}` passes at most {most} words to a kernel, not {words}: put them in device \
         memory and pass its address"
    )]
    TooManyWords {
        /// The device.
        device: &'static str,
        /// Number of words.
        words: usize,
        /// The maximum number.
        most: usize,
    },
    /// The operating system reported an error.
    #[error("{what}: {reason}")]
    System {
        /// The attempted operation.
        what: String,
        /// The system's error, which the message includes.
        reason: std::io::Error,
    },
}

impl DeviceError {
    /// A driver's failure on `device`.
    pub(super) fn driver(device: &str, failure: DriverFailure) -> Self {
        Self::Driver {
            device: device.to_owned(),
            failure,
        }
    }

    /// The same error with what the driver has reported about it.
    pub(super) fn with_reports(mut self, reports: &[String]) -> Self {
        if let Self::Driver { failure, .. } = &mut self {
            for report in reports {
                failure.message = format!("{}: {report}", failure.message);
            }
        }
        self
    }
}

debug_as_display!(DeviceError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_the_one_that_the_device_has_set() {
        let error = |setting| {
            let error = DeviceError::OutOfMemory {
                device: "a device of another name".to_owned(),
                bytes: 2,
                free: 1,
                total: 1,
                setting,
            };
            error.to_string()
        };
        assert!(
            error(Some("REVOFF_X_MEMORY")).ends_with("are free (REVOFF_X_MEMORY sets its size)")
        );
        assert!(error(None).ends_with("are free"));
    }
}
