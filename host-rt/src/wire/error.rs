//! Errors of a request's arguments.

use shared_abi::wire::native::MAX_CARRIED;

use crate::device::DeviceError;

/// The arguments of a request are invalid, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgsError {
    /// There are too many arguments.
    #[error("{count} arguments, at most {limit} are allowed")]
    TooMany {
        /// Number of arguments.
        count: u64,
        /// The maximum.
        limit: u64,
    },
    /// The request's bounce extent is too long or not in the bounce area.
    #[error("{blocks} bounce blocks at {first}: no such extent")]
    NoSuchExtent {
        /// The extent's first block.
        first: u32,
        /// The extent's number of blocks.
        blocks: u32,
    },
    /// The list of arguments is longer than the extent that contains it.
    #[error("{count} arguments do not fit an extent of {blocks} blocks")]
    ListTooLong {
        /// Number of arguments.
        count: usize,
        /// The extent's number of blocks.
        blocks: u32,
    },
    /// More than [`MAX_CARRIED`] arguments are carried.
    #[error("more than {MAX_CARRIED} arguments are carried")]
    TooManyCarried,
    /// An argument's entry names a location that cannot carry it.
    #[error(
        "argument {index} is said to be carried at place {place}, offset {offset}, {size} bytes"
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
    #[error("its argument arrays")]
    Arrays(#[source] DeviceError),
}
