//! The consumers: how the host takes requests from each wire and answers them,
//! one file per wire.
//!
//! The holder of the poll token polls a wire (`PollWire`), which yields an owned
//! `Request`. Any thread can serve that: read its arguments and their bytes, write
//! results, and complete it. A request that is dropped completes as failed.
//!
//! A device is not trusted: everything read from a wire is read once, into a
//! value of ours, and checked before use.

mod arg;
mod copier;
mod error;
pub mod gcc;
pub mod gcc_ring;
pub mod gcc_slot;
pub mod gcn_queue;
mod kinds;
mod memory;
pub mod native;
pub mod panic;
mod poll;
mod request;
mod reserved;
#[cfg(test)]
mod tests;
pub mod wake;

pub use self::arg::Arg;
pub(crate) use self::arg::ArgRange;
pub(crate) use self::copier::{Copier, DeviceAccess};
pub(crate) use self::error::ArgsError;
pub(crate) use self::kinds::{KINDS, RequestPoller, WireParts};
pub(crate) use self::memory::{Wire, WireConfig};
pub use self::poll::Poll;
pub(crate) use self::poll::PollWire;
pub(crate) use self::request::Request;
pub use self::reserved::Reservation;
pub(crate) use self::reserved::Reserved;
