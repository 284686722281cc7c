//! [`ServicesError`].

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::base::debug_as_display;

/// A setting of a [`ServicesBuilder`](super::ServicesBuilder) is invalid.
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
}

debug_as_display!(ServicesError);
