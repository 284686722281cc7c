//! Addresses in the memory of devices.

use std::fmt;
use std::num::TryFromIntError;
use std::ops::Add;

/// An address in a device's memory. It gives no permission to access it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceAddr(pub u64);

impl DeviceAddr {
    /// The address `bytes` after it; `None` past the end of the address space.
    #[must_use]
    pub const fn checked_add(self, bytes: u64) -> Option<Self> {
        match self.0.checked_add(bytes) {
            Some(address) => Some(Self(address)),
            None => None,
        }
    }
}

impl Add<u64> for DeviceAddr {
    type Output = Self;

    /// The address `bytes` after it, which is in the same allocation.
    fn add(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

/// For ranges.
impl TryFrom<DeviceAddr> for usize {
    type Error = TryFromIntError;

    fn try_from(address: DeviceAddr) -> Result<Self, TryFromIntError> {
        address.0.try_into()
    }
}

impl fmt::Display for DeviceAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for DeviceAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceAddr({self})")
    }
}
