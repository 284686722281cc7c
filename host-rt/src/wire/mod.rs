//! The consumers of the wires, one file each: they take requests and complete them.
//!
//! The holder of the poll token polls a wire (`PollWire`), which yields an owned `Request`. Any
//! thread can serve the request: it reads arguments and their bytes, writes results, and completes
//! the request. Dropping a request completes it as failed.
//!
//! A device is not trusted: every word of a wire is read once, into a local value, and checked
//! before use.

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
pub(crate) mod warps;

pub use self::arg::Arg;
pub(crate) use self::arg::ArgRange;
pub(crate) use self::copier::{Copier, DeviceAccess};
pub use self::error::{ArgsError, ProtocolError};
pub(crate) use self::kinds::{KINDS, RequestPoller, WireParts};
pub use self::kinds::{NoSuchWire, wire_by_name};
pub(crate) use self::memory::{Wire, WireConfig};
pub use self::poll::Poll;
pub(crate) use self::poll::PollWire;
pub(crate) use self::request::Request;
pub use self::reserved::Reservation;
pub(crate) use self::reserved::Reserved;
