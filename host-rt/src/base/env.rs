//! All environment variables of this project that this crate reads; `device::auto` reads those of
//! launchers. A builder's value overrides the environment's, which overrides the default. An empty
//! value counts as unset.

use std::ops::RangeInclusive;
use std::time::Duration;

use hsa_emu::Weak;

pub use emu_driver::process::parse_bytes;

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
    pub expected: &'static str,
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
    /// `REVOFF_DEADLOCK_TIMEOUT`: time without progress after which nested launches count as
    /// deadlocked, 1 to 1000000 seconds.
    pub deadlock_timeout: Option<Duration>,
    /// `REVOFF_REQUEST_MEMORY`: host memory that the calls of a device may hold together, 1M to 1T.
    pub request_memory: Option<u64>,
    /// `REVOFF_HOST_MEMORY`: device memory of the `host` device, 1M to 1T.
    pub host_memory: Option<u64>,
    /// `REVOFF_HOST_STACK`: stack of a device thread of the `host` device, 16K to 1G.
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
    /// `REVOFF_EMU_WEAK`: emulated AMD GPUs delay stores and keep old content in caches as far as AMD's
    /// memory model allows it.
    pub emu_weak: Option<Weak>,
}

/// A variable of the environment.
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its meaning, its values, and the default in parentheses.
    pub meaning: &'static str,
    /// The allowed values.
    expected: &'static str,
    /// Sets its field to a value; `None` if the value is invalid.
    set: fn(&mut Env, &str) -> Option<()>,
}

/// All variables.
pub const VARIABLES: [Variable; 13] = [
    Variable {
        name: "GOMP_REVERSE_OFFLOAD_THREADS",
        meaning: "maximum number of host threads that serve calls, 1 to 1024 (8)",
        expected: "a number from 1 to 1024",
        set: |env, text| {
            env.threads = Some(number(text, 1..=1024)? as usize);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_SLOTS",
        meaning: "slots of a native wire, a power of two from 1 to 1024 (1024; 256 on GPUs)",
        expected: "a power of two from 1 to 1024",
        set: |env, text| {
            let slots = number(text, 1..=1024).filter(|slots| slots.is_power_of_two())?;
            env.slots = Some(slots as u32);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_BOUNCE",
        meaning: "bounce area per device, 1M to 1G, in steps of 512K (16M)",
        expected: "a size from 1M to 1G in steps of 512K",
        set: |env, text| {
            let bytes = size(text, 1 << 20..=1 << 30)?;
            env.bounce_bytes = Some(bytes.is_multiple_of(512 << 10).then_some(bytes)?);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_HOST_MEMORY",
        meaning: "device memory of the host device, 1M to 1T (16G, reserved and used as needed)",
        expected: "a size from 1M to 1T",
        set: |env, text| {
            env.host_memory = Some(size(text, 1 << 20..=1 << 40)?);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_HOST_STACK",
        meaning: "stack of a device thread of the host device, 16K to 1G (256K)",
        expected: "a size from 16K to 1G",
        set: |env, text| {
            env.host_stack = Some(size(text, 16 << 10..=1 << 30)?);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_DEADLINE",
        meaning: "whole seconds that a kernel may take before its launch fails, 1 to 1000000 (no \
                  limit)",
        expected: "a whole number of seconds from 1 to 1000000",
        set: |env, text| {
            env.deadline = Some(seconds(text)?);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_DEADLOCK_TIMEOUT",
        meaning: "whole seconds without progress after which calls that wait for kernels, and keep all \
                  slots or bounce blocks, count as deadlocked, 1 to 1000000 (10)",
        expected: "a whole number of seconds from 1 to 1000000",
        set: |env, text| {
            env.deadlock_timeout = Some(seconds(text)?);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_EMU_MEMORY",
        meaning: "device memory of emu, 1M to 1T (16G, reserved and used as needed)",
        expected: "a size from 1M to 1T",
        set: |env, text| {
            env.emu_memory = Some(size(text, 1 << 20..=1 << 40)?);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_EMU_THREADS",
        meaning: "number of emu's multiprocessors, each a host thread, 1 to 1024 (the machine's \
                  cores)",
        expected: "a number from 1 to 1024",
        set: |env, text| {
            env.emu_threads = Some(number(text, 1..=1024)? as u32);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_EMU_CHECK",
        meaning: "1: unordered accesses of emu's threads to the same memory are faults (0)",
        expected: "0 or 1",
        set: |env, text| {
            env.emu_check = Some(number(text, 0..=1)? == 1);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_EMU_PATIENCE",
        meaning: "whole seconds without progress after which looping threads of emu count as \
                  deadlocked, 1 to 1000000 (10)",
        expected: "a whole number of seconds from 1 to 1000000",
        set: |env, text| {
            env.emu_patience = Some(seconds(text)?);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_EMU_WEAK",
        meaning: "a seed from 1 on: emulated AMD GPUs delay stores and keep old content in caches as \
                  far as AMD's memory model allows it; ,store-waits or ,invalidations after it: \
                  what they ignore, so that code that needs it fails (off)",
        expected: Weak::EXPECTED,
        set: |env, text| {
            env.emu_weak = Some(Weak::parse(text)?);
            Some(())
        },
    },
    Variable {
        name: "REVOFF_REQUEST_MEMORY",
        meaning: "host memory that the arguments of all calls of a device may use together, 1M to \
                  1T (4G)",
        expected: "a size from 1M to 1T",
        set: |env, text| {
            env.request_memory = Some(size(text, 1 << 20..=1 << 40)?);
            Some(())
        },
    },
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
        let mut env = Self::default();
        for variable in &VARIABLES {
            let Some(value) = get(variable.name).filter(|value| !value.is_empty()) else {
                continue;
            };
            if (variable.set)(&mut env, value.trim()).is_none() {
                return Err(EnvError {
                    name: variable.name,
                    value,
                    expected: variable.expected,
                });
            }
        }
        Ok(env)
    }
}

fn number(text: &str, allowed: RangeInclusive<u64>) -> Option<u64> {
    text.parse().ok().filter(|number| allowed.contains(number))
}

fn size(text: &str, allowed: RangeInclusive<u64>) -> Option<u64> {
    parse_bytes(text).filter(|bytes| allowed.contains(bytes))
}

fn seconds(text: &str) -> Option<Duration> {
    number(text, 1..=1_000_000).map(Duration::from_secs)
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
