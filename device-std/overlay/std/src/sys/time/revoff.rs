use crate::sys::pal::{device::std_monotonic_time, host::std_system_time};
use crate::time::Duration;

/// Time since the device's clock started; negative if a program subtracts more.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Instant(Time);

/// Time since 1970.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct SystemTime(Time);

pub const UNIX_EPOCH: SystemTime = SystemTime(Time { secs: 0, nanos: 0 });

/// Seconds, rounded down, and the nanoseconds after that.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
struct Time {
    secs: i64,
    nanos: u32,
}

const NANOS: u32 = 1_000_000_000;

impl Instant {
    pub fn now() -> Instant {
        let nanos = std_monotonic_time();
        let (secs, nanos) = (nanos / u64::from(NANOS), nanos % u64::from(NANOS));
        Instant(Time { secs: secs as i64, nanos: nanos as u32 })
    }

    pub fn checked_sub_instant(&self, other: &Instant) -> Option<Duration> {
        self.0.since(other.0).ok()
    }

    pub fn checked_add_duration(&self, other: &Duration) -> Option<Instant> {
        self.0.plus(other).map(Instant)
    }

    pub fn checked_sub_duration(&self, other: &Duration) -> Option<Instant> {
        self.0.minus(other).map(Instant)
    }
}

impl SystemTime {
    pub const MAX: SystemTime = SystemTime(Time { secs: i64::MAX, nanos: NANOS - 1 });

    pub const MIN: SystemTime = SystemTime(Time { secs: i64::MIN, nanos: 0 });

    pub fn now() -> SystemTime {
        SystemTime::from_nanos(std_system_time())
    }

    /// From nanoseconds since 1970.
    pub(crate) fn from_nanos(nanos: i64) -> SystemTime {
        let (secs, nanos) = (nanos.div_euclid(NANOS.into()), nanos.rem_euclid(NANOS.into()));
        SystemTime(Time { secs, nanos: nanos as u32 })
    }

    /// Nanoseconds since 1970, if they fit.
    pub(crate) fn nanos(self) -> Option<i64> {
        self.0.secs.checked_mul(NANOS.into())?.checked_add(self.0.nanos.into())
    }

    pub fn sub_time(&self, other: &SystemTime) -> Result<Duration, Duration> {
        self.0.since(other.0)
    }

    pub fn checked_add_duration(&self, other: &Duration) -> Option<SystemTime> {
        self.0.plus(other).map(SystemTime)
    }

    pub fn checked_sub_duration(&self, other: &Duration) -> Option<SystemTime> {
        self.0.minus(other).map(SystemTime)
    }
}

impl Time {
    /// The duration since `earlier`, or as an error that until it.
    fn since(self, earlier: Time) -> Result<Duration, Duration> {
        if self < earlier {
            return Err(match earlier.since(self) {
                Ok(duration) | Err(duration) => duration,
            });
        }
        // Not negative, since `self` is no earlier.
        let borrow = self.nanos < earlier.nanos;
        let secs = self.secs.wrapping_sub(earlier.secs) as u64 - u64::from(borrow);
        let nanos = self.nanos + if borrow { NANOS } else { 0 } - earlier.nanos;
        Ok(Duration::new(secs, nanos))
    }

    fn plus(self, duration: &Duration) -> Option<Time> {
        let secs = self.secs.checked_add_unsigned(duration.as_secs())?;
        let nanos = self.nanos + duration.subsec_nanos();
        let carry = nanos >= NANOS;
        Some(Time {
            secs: secs.checked_add(carry.into())?,
            nanos: nanos - if carry { NANOS } else { 0 },
        })
    }

    fn minus(self, duration: &Duration) -> Option<Time> {
        let secs = self.secs.checked_sub_unsigned(duration.as_secs())?;
        let borrow = self.nanos < duration.subsec_nanos();
        Some(Time {
            secs: secs.checked_sub(borrow.into())?,
            nanos: self.nanos + if borrow { NANOS } else { 0 } - duration.subsec_nanos(),
        })
    }
}
