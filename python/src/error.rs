//! The package's exceptions, and the errors of host-rt as such.

// Documents exceptions, for which the macro makes items.
#![allow(missing_docs, reason = "the macro passes their text to Python alone")]

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use revoff_host::{Chain, LaunchError as Launch, RuntimeError};

create_exception!(revoff, Error, PyException, "Any error of this package.");
create_exception!(
    revoff,
    DeviceError,
    Error,
    "A device cannot be opened, or an operation of it failed."
);
create_exception!(
    revoff,
    ImageError,
    Error,
    "A file is not a usable image, or does not fit the device, the functions or a kernel's declaration."
);
create_exception!(revoff, LaunchError, Error, "A kernel failed.");
create_exception!(
    revoff,
    CallError,
    LaunchError,
    "A call that a kernel made failed. Its cause is the exception that the function raised, if it did."
);
create_exception!(
    revoff,
    DeadlineError,
    LaunchError,
    "A kernel has not ended by its deadline."
);
create_exception!(
    revoff,
    SettingError,
    Error,
    "A setting has an invalid value: an environment variable, or `deadline`."
);
create_exception!(
    revoff,
    DeclarationError,
    Error,
    "A declaration is invalid, or two functions have one name."
);
create_exception!(
    revoff,
    ArgumentError,
    Error,
    "An argument does not fit what takes it, or is in use."
);
create_exception!(
    revoff,
    ClosedError,
    Error,
    "The runtime has been closed, or a device array freed."
);

/// The exception for an error of host-rt.
pub(crate) fn from_runtime(error: &RuntimeError) -> PyErr {
    let text = Chain(error).to_string();
    match error {
        RuntimeError::Image(_) => ImageError::new_err(text),
        RuntimeError::Device(_) => DeviceError::new_err(text),
        RuntimeError::Launch(Launch::Call { .. }) => CallError::new_err(text),
        RuntimeError::Launch(Launch::Deadline { .. }) => DeadlineError::new_err(text),
        RuntimeError::Launch(_) => LaunchError::new_err(text),
        RuntimeError::Env(_) | RuntimeError::Telemetry(_) => SettingError::new_err(text),
        RuntimeError::TwiceRegistered { .. } => DeclarationError::new_err(text),
        _ => Error::new_err(text),
    }
}
