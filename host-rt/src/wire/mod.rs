//! The consumers: how the host takes requests from each wire and answers them,
//! one file per wire.
//!
//! A wire has two parts. Its poller (`PollWire`) finds and takes published requests and
//! belongs to the holder of the poll token. The wire itself (`Wire`) reads the
//! arguments of a request that was taken and completes it, from any thread.
//!
//! A device is not trusted: everything read from a wire is read once, into a
//! value of ours, and checked before use.

mod copier;
mod gcc;
pub mod gcc_ring;
pub mod gcc_slot;
pub mod gcn_queue;
pub mod native;
pub mod panic;
mod request;
mod reserved;
mod traits;
pub mod wake;

pub(crate) use self::copier::Copier;
pub(crate) use self::request::Place;
pub use self::request::{Arg, At, Poll, Taken};
pub use self::reserved::Reservation;
pub(crate) use self::reserved::Reserved;
pub(crate) use self::traits::{Attached, Kind, PollWire, Wire, WireConfig, WireParts};

/// The wires that this host serves.
pub(crate) const KINDS: [Kind; 4] = [
    native::KIND,
    gcc_ring::KIND,
    gcn_queue::KIND,
    gcc_slot::KIND,
];
