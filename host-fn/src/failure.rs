//! Reasons why a host function returns no result.

use core::fmt;

use shared_abi::map_kind::MapKind;

/// The reason why a host function returned no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The device's arguments are not those of the declaration. The function did
    /// not run.
    BadArguments(BadArguments),
    /// The function ran and returned an error. Its text went to the `message`
    /// argument of [`HostFunction::call`](crate::HostFunction::call).
    Function,
}

/// A mismatch between a declaration and the arguments that a device sent. Arguments count from 0;
/// the last one is the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadArguments {
    /// Another number of arguments.
    Count {
        /// As declared.
        expected: usize,
        /// The received value.
        found: usize,
    },
    /// Another kind of mapping (alignment aside).
    Kind {
        /// The argument's index.
        argument: usize,
        /// As declared.
        expected: MapKind,
        /// The received value.
        found: MapKind,
    },
    /// Another size.
    Size {
        /// The argument's index.
        argument: usize,
        /// As declared.
        expected: u64,
        /// The received value.
        found: u64,
    },
    /// Not a whole number of elements.
    Elements {
        /// The argument's index.
        argument: usize,
        /// Size of an element, as declared.
        element: u64,
        /// Size of the argument, as sent.
        found: u64,
    },
    /// Memory that is null or not aligned for the type.
    Address {
        /// The argument's index.
        argument: usize,
        /// Alignment of the declared type.
        align: u64,
        /// The address.
        found: u64,
    },
    /// Memory shared with another argument, and one of the two is written.
    Overlap {
        /// The argument's index.
        argument: usize,
        /// The index of the earlier argument that shares the memory.
        other: usize,
    },
}

impl fmt::Display for BadArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count { expected, found } => {
                write!(
                    f,
                    "{found} arguments, declared are {expected} (the reply included)"
                )
            }
            Self::Kind {
                argument,
                expected,
                found,
            } => {
                write!(
                    f,
                    "argument {argument} is mapped as {found:?}, declared as {expected:?}"
                )
            }
            Self::Size {
                argument,
                expected,
                found,
            } => {
                write!(
                    f,
                    "argument {argument} has {found} bytes, its type has {expected}"
                )
            }
            Self::Elements {
                argument,
                element,
                found,
            } => write!(
                f,
                "argument {argument} has {found} bytes, no whole number of elements of {element}"
            ),
            Self::Address {
                argument,
                align,
                found,
            } => write!(
                f,
                "argument {argument} is at {found:#x}, but its type requires an alignment of {align}"
            ),
            Self::Overlap { argument, other } => write!(
                f,
                "argument {argument} overlaps argument {other}, and one of both is written"
            ),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadArguments(bad) => write!(
                f,
                "the device's call does not fit the declaration: {bad}; \
                 build image and host from the same declaration"
            ),
            Self::Function => f.write_str("the host function returned an error"),
        }
    }
}

impl From<BadArguments> for Failure {
    fn from(bad: BadArguments) -> Self {
        Failure::BadArguments(bad)
    }
}

impl core::error::Error for BadArguments {}

impl core::error::Error for Failure {}
