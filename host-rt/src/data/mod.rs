//! Host data that has a copy on the device.
//!
//! A launch of a [typed kernel](crate::TypedKernel) copies its arguments to the device and
//! back. Data that several launches use is mapped before ([`Runtime::map_to`] and its
//! siblings): as long as the guard lives, launches find it there, by where it lies on the
//! host, and copy nothing.
//!
//! | file | job |
//! |---|---|
//! | `ranges` | a table of ranges of host addresses |
//! | `on_device` | the copy of one range |
//! | `copies` | copying, and counting what was copied |
//! | `environment` | which ranges are there |
//! | `mapped` | the guards |
//! | `arguments` | the arguments of one launch |
//!
//! [`Runtime::map_to`]: crate::Runtime::map_to

mod arguments;
mod copies;
mod environment;
mod mapped;
mod on_device;
mod ranges;

pub(crate) use arguments::Placed;
pub use copies::Transfers;
pub(crate) use copies::{Copies, Counts};
pub(crate) use environment::Environment;
pub use mapped::{Mapped, MappedMut};
pub(crate) use on_device::OnDevice;
pub use ranges::{Found, HostRange, HostRanges, RangeError};
