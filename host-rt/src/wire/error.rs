//! Errors of a request's arguments.

use shared_abi::wire::native::MAX_CARRIED;
use targets::count::Count;

use crate::device::DeviceError;

/// The arguments of a request are invalid, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgsError {
    /// There are too many arguments.
    #[error("the call has {count} arguments, at most {limit} are allowed")]
    TooMany {
        /// Number of arguments.
        count: u64,
        /// The maximum.
        limit: u64,
    },
    /// The request's bounce extent is too long or not in the bounce area.
    #[error("the bounce area has no extent of {} at block {first}", Count((*blocks).into(), "block"))]
    NoSuchExtent {
        /// The extent's first block.
        first: u32,
        /// The extent's number of blocks.
        blocks: u32,
    },
    /// The list of arguments is longer than the extent that contains it.
    #[error(
        "a list of {count} arguments does not fit in an extent of {}",
        Count((*blocks).into(), "block")
    )]
    ListTooLong {
        /// Number of arguments.
        count: usize,
        /// The extent's number of blocks.
        blocks: u32,
    },
    /// More than [`MAX_CARRIED`] arguments are carried.
    #[error("the request carries the bytes of more than {MAX_CARRIED} arguments")]
    TooManyCarried,
    /// An argument's entry names a location that cannot carry it.
    #[error(
        "argument {index} has an invalid location: place {place}, offset {offset}, {}",
        Count(*size, "byte")
    )]
    NotCarried {
        /// The argument's index.
        index: usize,
        /// The entry's word for the place.
        place: u16,
        /// Offset in that place, in bytes.
        offset: usize,
        /// Size in bytes.
        size: u64,
    },
    /// The arrays of GCC's wires could not be copied from the device.
    #[error("cannot read the argument arrays")]
    Arrays(#[source] DeviceError),
}
