//! Environment variables, which are read once.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use revoff_host::device;

use crate::abi::libomp;
use crate::report::message;

/// The list of devices; the images choose if it is not set.
const DEVICE: &str = "REVOFF_DEVICE";

/// The choice between device and host for dependences of target tasks.
const DEPEND: &str = "REVOFF_DEPEND";

/// The set of [`Info`], as a number.
const INFO: &str = "LIBOMPTARGET_INFO";

/// Minimum bytes of dynamic shared memory of a team.
const SHARED_BYTES: &str = "LIBOMPTARGET_SHARED_MEMORY_SIZE";

/// Bytes of memory from which device code allocates on AMD GPUs.
const HEAP_BYTES: &str = "LIBOMPTARGET_HEAP_SIZE";

/// The default of it.
const DEFAULT_HEAP_BYTES: u32 = 128 << 20;

/// LLVM's set of checks of its device runtime, as a number.
const DEVICE_DEBUG: &str = "LIBOMPTARGET_DEVICE_RTL_DEBUG";

/// A set of reported events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Info(u32);

impl Info {
    /// Arguments of constructs.
    pub(crate) const ARGUMENTS: Self = Self(0x1);
    /// Mappings that exist.
    pub(crate) const EXISTING: Self = Self(0x2);
    /// The mapping tables after each construct.
    pub(crate) const TABLES: Self = Self(0x4);
    /// Mappings that begin or end.
    pub(crate) const CHANGES: Self = Self(0x8);
    /// Launches.
    pub(crate) const LAUNCHES: Self = Self(0x10);
    /// Copies.
    pub(crate) const COPIES: Self = Self(0x20);
    /// Arguments without a counterpart on the device.
    pub(crate) const EMPTY: Self = Self(0x40);

    /// Whether it has one of these.
    pub(crate) fn has(self, what: Self) -> bool {
        self.0 & what.0 != 0
    }
}

/// The set of the environment, or of [`set_info`].
static LEVEL: OnceLock<AtomicU32> = OnceLock::new();

fn level() -> &'static AtomicU32 {
    LEVEL.get_or_init(|| {
        let level = match std::env::var(INFO) {
            Ok(text) if !text.is_empty() => parse_number(&text).unwrap_or_else(|| {
                message::error(&format!(
                    "{INFO}={text}: expected a number, a sum of 1 (arguments), 2 (existing mappings), \
                     4 (tables), 8 (changed mappings), 16 (launches), 32 (copies) and 64 (empty mappings), \
                     or -1 for all; nothing is reported"
                ));
                0
            }),
            _ => 0,
        };
        AtomicU32::new(level)
    })
}

/// A decimal or hexadecimal number; the bits of a negative one.
fn parse_number(text: &str) -> Option<u32> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let number = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative {
        number.wrapping_neg()
    } else {
        number
    })
}

/// The number in the environment variable `name`; 0 if it is not set.
fn number(name: &str) -> u32 {
    let text = std::env::var(name).unwrap_or_default();
    if text.is_empty() {
        return 0;
    }
    parse_number(&text).unwrap_or_else(|| {
        message::error(&format!("{name}={text}: expected a number; 0 is used"));
        0
    })
}

/// Minimum bytes of dynamic shared memory of a team.
pub(crate) fn shared_bytes() -> u32 {
    static BYTES: OnceLock<u32> = OnceLock::new();
    *BYTES.get_or_init(|| number(SHARED_BYTES))
}

/// Bytes of memory from which device code allocates on AMD GPUs.
pub(crate) fn heap_bytes() -> u32 {
    static BYTES: OnceLock<u32> = OnceLock::new();
    *BYTES.get_or_init(|| match number(HEAP_BYTES) {
        0 => DEFAULT_HEAP_BYTES,
        bytes => bytes,
    })
}

/// The checks of LLVM's device runtime.
pub(crate) fn device_debug() -> u32 {
    static KINDS: OnceLock<u32> = OnceLock::new();
    *KINDS.get_or_init(|| number(DEVICE_DEBUG))
}

/// The events to report.
pub(crate) fn info() -> Info {
    // Relaxed: a number by itself.
    Info(level().load(Ordering::Relaxed))
}

/// Changes the events to report.
pub(crate) fn set_info(flags: u32) {
    // Relaxed: see `info`.
    level().store(flags, Ordering::Relaxed);
}

/// Whether everything runs on the host: `OMP_TARGET_OFFLOAD=DISABLED`, which OpenMP's runtime
/// reads.
pub(crate) fn is_disabled() -> bool {
    static DISABLED: OnceLock<bool> = OnceLock::new();
    policy_is(&DISABLED, libomp::OFFLOAD_DISABLED, "disabled")
}

/// Whether a program without devices must end: `OMP_TARGET_OFFLOAD=MANDATORY`.
pub(crate) fn is_mandatory() -> bool {
    static MANDATORY: OnceLock<bool> = OnceLock::new();
    policy_is(&MANDATORY, libomp::OFFLOAD_MANDATORY, "mandatory")
}

/// Whether `OMP_TARGET_OFFLOAD` has libomp's value `number`, or, without libomp, the value `name`.
/// The result is cached in `known`. libomp is called outside of its initialisation, since the call
/// may start libomp and an OpenMP tool, which may call this library.
fn policy_is(known: &OnceLock<bool>, number: c_int, name: &str) -> bool {
    if let Some(&known) = known.get() {
        return known;
    }
    let is = match libomp::target_offload() {
        Some(policy) => policy == number,
        None => std::env::var("OMP_TARGET_OFFLOAD")
            .is_ok_and(|text| text.trim().eq_ignore_ascii_case(name)),
    };
    *known.get_or_init(|| is)
}

/// Whether devices resolve dependences of target tasks; `None` if the variable is not set. An
/// invalid value ends the process.
pub(crate) fn devices_resolve() -> Option<bool> {
    match std::env::var(DEPEND).as_deref() {
        Err(_) | Ok("") => None,
        Ok("device") => Some(true),
        Ok("host") => Some(false),
        Ok(text) => message::fatal(
            1,
            &format!(
                "{DEPEND}={text}: expected `device` (devices resolve what target tasks depend on, where they \
                 can) or `host` (libomp does)"
            ),
        ),
    }
}

/// The names in `REVOFF_DEVICE`, if it is set. A name that no device can have ends the process.
pub(crate) fn devices() -> Option<Vec<String>> {
    let list = std::env::var(DEVICE).ok().filter(|list| !list.is_empty())?;
    let names = list
        .split(',')
        .map(|name| match device::resolve(name.trim()) {
            Ok(name) => name.into_owned(),
            Err(error) => message::fatal(1, &format!("{DEVICE}={list}: {error}")),
        });
    let names: Vec<_> = names.collect();
    if let Some(wrong) = names.iter().find(|name| !is_device(name)) {
        let what = format!(
            "{DEVICE}={list}: `{wrong}` is not a device: expected names such as `host`, `emu`, `emu:sm_60`, `emu:gfx90a`, `cuda`, \
             `cuda:1` or `auto` (`revoff devices` lists the devices of this machine)"
        );
        message::fatal(1, &what);
    }
    Some(names)
}

/// Whether a device can have this name.
fn is_device(name: &str) -> bool {
    let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
    let is_number = rest.bytes().all(|byte| byte.is_ascii_digit());
    match kind {
        "host" => name == kind,
        "emu" => name == kind || ["sm_", "gfx"].iter().any(|vendor| rest.starts_with(vendor)),
        "cuda" | "hsa" => name == kind || (!rest.is_empty() && is_number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices() {
        for name in [
            "host",
            "emu",
            "emu:sm_60",
            "emu:gfx90a",
            "cuda",
            "cuda:12",
            "hsa:0",
        ] {
            assert!(is_device(name), "{name}");
        }
        for name in [
            "", "HOST", "host:1", "emu:60", "cuda:", "cuda:x", "nonsense",
        ] {
            assert!(!is_device(name), "{name}");
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(parse_number("-1"), Some(u32::MAX));
        assert_eq!(parse_number("0x21"), Some(0x21));
        assert_eq!(parse_number(" 33 "), Some(33));
        for text in ["x", "", "1x", "99999999999", "--1"] {
            assert_eq!(parse_number(text), None, "{text}");
        }
    }
}
