//! Host data that has a copy on the device.

mod ranges;

pub use ranges::{Found, HostRange, HostRanges, RangeError};
