//! Why the arguments of a request were refused.

use shared_abi::wire::native::MAX_CARRIED;

use crate::device::DeviceError;

/// The arguments of a request are invalid, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgsError {
    /// There are too many.
    #[error("{count} arguments, at most {limit} are allowed")]
    TooMany {
        /// Number of arguments.
        count: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// The request's bounce extent is not one of the bounce area.
    #[error("{blocks} bounce blocks at {first}: no such extent")]
    NoSuchExtent {
        /// Its first block.
        first: u32,
        /// Its number of blocks.
        blocks: u32,
    },
    /// The list of arguments is longer than the extent that it is in.
    #[error("{count} arguments do not fit an extent of {blocks} blocks")]
    ListTooLong {
        /// Number of arguments.
        count: usize,
        /// Blocks of the extent.
        blocks: u32,
    },
    /// More arguments are carried than there are bits for.
    #[error("more than {MAX_CARRIED} arguments are carried")]
    TooManyCarried,
    /// An argument is not carried where its entry says.
    #[error(
        "argument {index} is said to be carried at place {place}, offset {offset}, {size} bytes"
    )]
    NotCarried {
        /// Its index.
        index: usize,
        /// The word for the place.
        place: u16,
        /// Bytes from the place's begin.
        offset: usize,
        /// Its bytes.
        size: u64,
    },
    /// The arrays of GCC's wires could not be copied from the device.
    #[error("its argument arrays")]
    Arrays(#[source] DeviceError),
}
