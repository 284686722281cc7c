//! Errors of a request's arguments.

use shared_abi::wire::native::MAX_MARSHALLED;
use targets::count::Count;

use crate::device::DeviceError;

/// A message on a wire is invalid. It is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A slot's sequence number is not the one after its last request.
    #[error("slot {slot} has sequence number {found}, expected {expected}")]
    Sequence {
        /// The slot.
        slot: u32,
        /// Its sequence number.
        found: u32,
        /// The next one.
        expected: u32,
    },
    /// More lanes call together than a slot has room for.
    #[error("slot {slot} has requests of {found} lanes, at most {max} are possible")]
    Lanes {
        /// The slot.
        slot: u32,
        /// The number of lanes.
        found: u32,
        /// The maximum.
        max: u32,
    },
    /// A request has fewer rows than its header, or more than fit in the lane's part of the slot.
    #[error("slot {slot} has a request of {}, at least {min} and at most {max} are possible", Count((*found).into(), "row"))]
    Rows {
        /// The slot.
        slot: u32,
        /// The number of rows.
        found: u32,
        /// The minimum.
        min: u32,
        /// The maximum.
        max: u32,
    },
    /// Some rows of a slot's requests have arrived, and others have not within two seconds.
    #[error("slot {slot} has an incomplete request")]
    MissingRows {
        /// The slot.
        slot: u32,
    },
    /// The wire's counter of drawn slots is behind the host's. The wire stops.
    #[error("{counter} is {found}, but {consumed} {messages} have been consumed")]
    Counter {
        /// The counter's name in the layout.
        counter: &'static str,
        /// Its value.
        found: u32,
        /// The number of consumed messages.
        consumed: u32,
        /// The word for these messages: slots or messages.
        messages: &'static str,
    },
    /// A message has an unknown type.
    #[error("slot {slot} has a message of type {found}, expected 0 to {max}")]
    MessageType {
        /// The slot.
        slot: u32,
        /// The type.
        found: u32,
        /// The highest type.
        max: u32,
    },
}

/// The arguments of a request are invalid, or cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgsError {
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
    /// The list of arguments is longer than the request's rows.
    #[error(
        "a list of {} does not fit in {}",
        Count(*count as u64, "argument"),
        Count((*rows).into(), "row")
    )]
    ListOutsideSlot {
        /// Number of arguments.
        count: usize,
        /// The request's number of rows.
        rows: u32,
    },
    /// More than [`MAX_MARSHALLED`] arguments are marshalled.
    #[error("the request marshals more than {MAX_MARSHALLED} arguments")]
    TooManyMarshalled,
    /// An argument's entry names a location that cannot contain it.
    #[error(
        "argument {index} has an invalid location: place {place}, offset {offset}, {}",
        Count(*size, "byte")
    )]
    NotMarshalled {
        /// The argument's index.
        index: usize,
        /// The entry's word for the place.
        place: u16,
        /// The entry's word for the offset in that place.
        offset: u32,
        /// Size in bytes.
        size: u64,
    },
    /// The arrays of GCC's wires could not be copied from the device.
    #[error("cannot read the argument arrays")]
    Arrays(#[source] DeviceError),
}
