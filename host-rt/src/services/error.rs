//! [`ServicesError`].

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use targets::count::Count;

use super::ProgramLimits;
use crate::base::debug_as_display;
use crate::device::DeviceError;
use crate::runtime::RuntimeError;

/// A setting of a [`ServicesBuilder`](super::ServicesBuilder) is invalid, or a program cannot be launched.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServicesError {
    /// A folder to which the program is to have access cannot be opened.
    #[error("cannot open `{}` to allow access to it: name an existing folder", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A host to which the program is to have access is not one.
    #[error(
        "`{host}` is no host: write a name or an IP address, with a port or without (`localhost`, `[::1]:80`)"
    )]
    Host {
        /// The host.
        host: String,
    },
    /// An argument or a variable contains a NUL byte.
    #[error("{setting} {value:?} contains a NUL byte, which separates values: remove it")]
    Nul {
        /// The kind of setting.
        setting: &'static str,
        /// The value.
        value: OsString,
    },
    /// The name of an environment variable is empty or contains `=`.
    #[error("{name:?} cannot be the name of an environment variable: use a name without `=`")]
    VariableName {
        /// The name.
        name: OsString,
    },
    /// See [`RuntimeError`].
    #[error(transparent)]
    Runtime(Box<RuntimeError>),
    /// A program is to have no thread, or too many.
    #[error(
        "a program cannot have {}: set {} to {}",
        Count(u64::from(*threads), "thread"),
        ProgramLimits::THREAD_COUNTS.start(),
        ProgramLimits::THREAD_COUNTS.end()
    )]
    Threads {
        /// Their number.
        threads: u32,
    },
    /// The stack of a thread is too small or too large.
    #[error(
        "a stack cannot have {}: set {} to {}",
        Count(*bytes, "byte"),
        ProgramLimits::STACK_SIZES.start(),
        ProgramLimits::STACK_SIZES.end()
    )]
    Stack {
        /// Its size.
        bytes: u64,
    },
    /// The image is no program, or one for another version.
    #[error(
        "{name} is no program with std for this version: build it with `revoff build`, or again if it is older"
    )]
    NoProgram {
        /// The image.
        name: String,
    },
    /// The device has too little memory for a program.
    #[error("cannot allocate {} for the program's {part}: set a lower {limit}", Count(*bytes, "byte"))]
    Memory {
        /// The part of the program.
        part: &'static str,
        /// The size.
        bytes: u64,
        /// The limits on which it depends.
        limit: &'static str,
        /// The failure.
        source: Box<RuntimeError>,
    },
    /// The services belong to a program that was launched before.
    #[error("these services have launched a program: build others for each launch")]
    Launched,
}

impl ServicesError {
    /// The failure of an allocation of so many bytes for a part of the program.
    pub(super) fn no_memory(
        part: &'static str,
        bytes: u64,
        limit: &'static str,
        error: RuntimeError,
    ) -> Self {
        match error {
            RuntimeError::Device(DeviceError::OutOfMemory { .. }) => ServicesError::Memory {
                part,
                bytes,
                limit,
                source: Box::new(error),
            },
            error => error.into(),
        }
    }
}

impl From<RuntimeError> for ServicesError {
    fn from(error: RuntimeError) -> Self {
        ServicesError::Runtime(Box::new(error))
    }
}

debug_as_display!(ServicesError);
