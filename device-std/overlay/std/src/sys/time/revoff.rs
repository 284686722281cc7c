use crate::sys::pal::{device::std_monotonic_time, host::std_system_time};
use crate::time::Duration;

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Instant(Duration);

/// Seconds since 1970, rounded down, and the nanoseconds after that.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct SystemTime {
    secs: i64,
    nanos: u32,
}

pub const UNIX_EPOCH: SystemTime = SystemTime { secs: 0, nanos: 0 };

const NANOS: i64 = 1_000_000_000;

impl Instant {
    pub fn now() -> Instant {
        Instant(Duration::from_nanos(std_monotonic_time()))
    }

    pub fn checked_sub_instant(&self, other: &Instant) -> Option<Duration> {
        self.0.checked_sub(other.0)
    }

    pub fn checked_add_duration(&self, other: &Duration) -> Option<Instant> {
        Some(Instant(self.0.checked_add(*other)?))
    }

    pub fn checked_sub_duration(&self, other: &Duration) -> Option<Instant> {
        Some(Instant(self.0.checked_sub(*other)?))
    }
}

impl SystemTime {
    pub const MAX: SystemTime = SystemTime { secs: i64::MAX, nanos: NANOS as u32 - 1 };

    pub const MIN: SystemTime = SystemTime { secs: i64::MIN, nanos: 0 };

    pub fn now() -> SystemTime {
        SystemTime::from_nanos(std_system_time())
    }

    /// From nanoseconds since 1970.
    pub(crate) fn from_nanos(nanos: i64) -> SystemTime {
        SystemTime { secs: nanos.div_euclid(NANOS), nanos: nanos.rem_euclid(NANOS) as u32 }
    }

    /// Nanoseconds since 1970, if they fit.
    pub(crate) fn nanos(self) -> Option<i64> {
        self.secs.checked_mul(NANOS)?.checked_add(self.nanos.into())
    }

    pub fn sub_time(&self, other: &SystemTime) -> Result<Duration, Duration> {
        if self < other {
            return Err(match other.sub_time(self) {
                Ok(time) | Err(time) => time,
            });
        }
        // Not negative, since `self` is no earlier.
        let borrow = self.nanos < other.nanos;
        let secs = self.secs.wrapping_sub(other.secs) as u64 - u64::from(borrow);
        let nanos = self.nanos + if borrow { NANOS as u32 } else { 0 } - other.nanos;
        Ok(Duration::new(secs, nanos))
    }

    pub fn checked_add_duration(&self, other: &Duration) -> Option<SystemTime> {
        let secs = self.secs.checked_add_unsigned(other.as_secs())?;
        let nanos = self.nanos + other.subsec_nanos();
        let carry = nanos >= NANOS as u32;
        Some(SystemTime {
            secs: secs.checked_add(carry.into())?,
            nanos: nanos - if carry { NANOS as u32 } else { 0 },
        })
    }

    pub fn checked_sub_duration(&self, other: &Duration) -> Option<SystemTime> {
        let secs = self.secs.checked_sub_unsigned(other.as_secs())?;
        let borrow = self.nanos < other.subsec_nanos();
        Some(SystemTime {
            secs: secs.checked_sub(borrow.into())?,
            nanos: self.nanos + if borrow { NANOS as u32 } else { 0 } - other.subsec_nanos(),
        })
    }
}
