//! All environment variables that this crate reads. A builder's value overrides the environment's,
//! which overrides the default. An empty value counts as unset.

use std::time::Duration;

use super::debug_as_display;

/// An invalid value in the environment.
#[derive(thiserror::Error)]
#[error("environment variable {name}={value:?}: {expected} expected")]
pub struct EnvError {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The allowed values.
    pub expected: String,
}

debug_as_display!(EnvError);

/// The environment's configuration of a [`Runtime`](crate::Runtime).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    /// `GOMP_REVERSE_OFFLOAD_THREADS`: maximum threads that serve calls, 1 to 1024.
    pub threads: Option<usize>,
    /// `REVOFF_SLOTS`: slots of a `native` wire, a power of two from 1 to 1024.
    pub slots: Option<u32>,
    /// `REVOFF_BOUNCE`: size of the bounce area, 1M to 1G, in steps of 512K.
    pub bounce_bytes: Option<u64>,
    /// `REVOFF_DEADLINE`: how long a launch may take, 1 to 1000000 seconds.
    pub deadline: Option<Duration>,
    /// `REVOFF_REQUEST_MEMORY`: host memory that the calls of a device may hold together, 1M to 1T.
    pub request_memory: Option<u64>,
    /// `REVOFF_HOST_MEMORY`: device memory of the `host` device, 1M to 1T.
    pub host_memory: Option<u64>,
    /// `REVOFF_HOST_STACK`: stack of a device thread of the `host` device, 16K to 512K.
    pub host_stack: Option<u64>,
    /// `REVOFF_EMU_MEMORY`: device memory of `emu`, 1M to 1T.
    pub emu_memory: Option<u64>,
    /// `REVOFF_EMU_THREADS`: number of its multiprocessors, each a host thread, 1 to 1024.
    pub emu_threads: Option<u32>,
    /// `REVOFF_EMU_CHECK`: whether unordered accesses to the same memory are faults.
    pub emu_check: Option<bool>,
    /// `REVOFF_EMU_PATIENCE`: time without progress after which looping threads count as
    /// deadlocked, 1 to 1000000 seconds.
    pub emu_patience: Option<Duration>,
}

/// Names and meanings, for help texts.
pub const VARIABLES: [(&str, &str); 11] = [
    (
        "GOMP_REVERSE_OFFLOAD_THREADS",
        "maximum number of host threads that serve calls, 1 to 1024 (8)",
    ),
    (
        "REVOFF_SLOTS",
        "slots of a native wire, a power of two from 1 to 1024 (1024)",
    ),
    (
        "REVOFF_BOUNCE",
        "bounce area per device, 1M to 1G, in steps of 512K (16M)",
    ),
    (
        "REVOFF_HOST_MEMORY",
        "device memory of the host device, 1M to 1T (16G, reserved and used as needed)",
    ),
    (
        "REVOFF_HOST_STACK",
        "stack of a device thread of the host device, 16K to 512K (256K)",
    ),
    (
        "REVOFF_DEADLINE",
        "whole seconds that a kernel may take before its launch fails, 1 to 1000000 (no limit)",
    ),
    (
        "REVOFF_EMU_MEMORY",
        "device memory of emu, 1M to 1T (16G, reserved and used as needed)",
    ),
    (
        "REVOFF_EMU_THREADS",
        "number of emu's multiprocessors, each a host thread, 1 to 1024 (the machine's cores)",
    ),
    (
        "REVOFF_EMU_CHECK",
        "1: unordered accesses of emu's threads to the same memory are faults (0)",
    ),
    (
        "REVOFF_EMU_PATIENCE",
        "whole seconds without progress after which looping threads of emu count as deadlocked, \
         1 to 1000000 (10)",
    ),
    (
        "REVOFF_REQUEST_MEMORY",
        "host memory that the arguments of all calls of a device may use together, 1M to 1T (4G)",
    ),
];

impl Env {
    /// Reads the environment of the process.
    ///
    /// # Errors
    /// The first variable with an invalid value.
    pub fn read() -> Result<Self, EnvError> {
        Self::from_lookup(|name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned()))
    }

    /// Like [`read`](Self::read), from any source.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn from_lookup(get: impl Fn(&str) -> Option<String>) -> Result<Self, EnvError> {
        let read = |index: usize, expected: &str, parse: &dyn Fn(&str) -> Option<u64>| {
            let (name, _) = VARIABLES[index];
            let Some(value) = get(name).filter(|value| !value.is_empty()) else {
                return Ok(None);
            };
            match parse(value.trim()) {
                Some(number) => Ok(Some(number)),
                None => Err(EnvError {
                    name,
                    value,
                    expected: expected.to_owned(),
                }),
            }
        };
        let bytes = |low: u64, high: u64, step: u64| {
            move |text: &str| {
                parse_bytes(text).filter(|n| (low..=high).contains(n) && n % step == 0)
            }
        };
        Ok(Self {
            threads: read(0, "a number from 1 to 1024", &|text| {
                text.parse().ok().filter(|n| (1..=1024).contains(n))
            })?
            .map(|n| n as usize),
            slots: read(1, "a power of two from 1 to 1024", &|text| {
                text.parse::<u64>()
                    .ok()
                    .filter(|n| n.is_power_of_two() && *n <= 1024)
            })?
            .map(|n| n as u32),
            bounce_bytes: read(
                2,
                "a size from 1M to 1G in steps of 512K",
                &bytes(1 << 20, 1 << 30, 512 << 10),
            )?,
            host_memory: read(3, "a size from 1M to 1T", &bytes(1 << 20, 1 << 40, 1))?,
            deadline: read(5, "a whole number of seconds from 1 to 1000000", &|text| {
                text.parse().ok().filter(|n| (1..=1_000_000).contains(n))
            })?
            .map(Duration::from_secs),
            host_stack: read(4, "a size from 16K to 512K", &bytes(16 << 10, 512 << 10, 1))?,
            emu_memory: read(6, "a size from 1M to 1T", &bytes(1 << 20, 1 << 40, 1))?,
            emu_threads: read(7, "a number from 1 to 1024", &|text| {
                text.parse().ok().filter(|n| (1..=1024).contains(n))
            })?
            .map(|n| n as u32),
            emu_check: read(8, "0 or 1", &|text| {
                text.parse().ok().filter(|n| (0..=1).contains(n))
            })?
            .map(|n| n == 1),
            emu_patience: read(9, "a whole number of seconds from 1 to 1000000", &|text| {
                text.parse().ok().filter(|n| (1..=1_000_000).contains(n))
            })?
            .map(Duration::from_secs),
            request_memory: read(10, "a size from 1M to 1T", &bytes(1 << 20, 1 << 40, 1))?,
        })
    }
}

/// A size in bytes with an optional suffix K, M, G or T (powers of 1024).
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let split = text.len()
        - text
            .chars()
            .next_back()
            .filter(char::is_ascii_alphabetic)
            .map_or(0, char::len_utf8);
    let (digits, suffix) = text.split_at(split);
    let shift = match suffix.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Env, EnvError> {
        Env::from_lookup(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn values_are_read() {
        assert_eq!(Env::from_lookup(|_| None).unwrap(), Env::default());
        assert_eq!(
            with("GOMP_REVERSE_OFFLOAD_THREADS", "3").unwrap().threads,
            Some(3)
        );
        assert_eq!(with("REVOFF_SLOTS", "64").unwrap().slots, Some(64));
        assert_eq!(
            with("REVOFF_BOUNCE", "2M").unwrap().bounce_bytes,
            Some(2 << 20)
        );
        assert_eq!(
            with("REVOFF_HOST_MEMORY", " 1g ").unwrap().host_memory,
            Some(1 << 30)
        );
        assert_eq!(with("REVOFF_HOST_STACK", "").unwrap().host_stack, None);
        let minute = Some(Duration::from_secs(60));
        assert_eq!(with("REVOFF_DEADLINE", "60").unwrap().deadline, minute);
    }

    #[test]
    fn invalid_values_are_named() {
        for (name, value) in [
            ("GOMP_REVERSE_OFFLOAD_THREADS", "0"),
            ("GOMP_REVERSE_OFFLOAD_THREADS", "many"),
            ("GOMP_REVERSE_OFFLOAD_THREADS", "-1"),
            ("REVOFF_SLOTS", "3"),
            ("REVOFF_SLOTS", "2048"),
            ("REVOFF_BOUNCE", "1"),
            ("REVOFF_BOUNCE", "99999999999999999999T"),
            ("REVOFF_BOUNCE", "1Mé"),
            ("REVOFF_HOST_MEMORY", "1X"),
            ("REVOFF_HOST_STACK", "M"),
            ("REVOFF_DEADLINE", "0"),
            ("REVOFF_REQUEST_MEMORY", "1K"),
            ("REVOFF_DEADLINE", "soon"),
        ] {
            let error = with(name, value).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }
}
