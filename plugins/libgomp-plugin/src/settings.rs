//! Environment variables of all plugins, and numbers for those of one kind. [`revoff_host::env`] reads
//! those of all devices.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::OnceLock;

use crate::error::SettingError;
use crate::libgomp;

/// The expected value of such a variable.
pub const BYTES: &str = "a number of bytes";

/// The variable that makes the program wait for `nowait` regions.
const NOWAIT: &str = "REVOFF_NOWAIT";

/// How target regions with `nowait` run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nowait {
    /// Concurrently with the thread that starts them.
    Async,
    /// Before that thread continues, as with GCC's plugin for NVIDIA GPUs.
    Sync,
}

/// The value of `REVOFF_NOWAIT`; an invalid one is reported once, and counts as unset.
pub(crate) fn nowait() -> Nowait {
    static NOWAIT_IS: OnceLock<Nowait> = OnceLock::new();
    *NOWAIT_IS.get_or_init(|| {
        let text = std::env::var_os(NOWAIT).filter(|text| !text.is_empty());
        let text = text.unwrap_or_default();
        let text = text.to_string_lossy();
        nowait_of(&text).unwrap_or_else(|reason| {
            libgomp::error(&format!("{NOWAIT}={text}: {reason}"));
            Nowait::Async
        })
    })
}

fn nowait_of(text: &str) -> Result<Nowait, SettingError> {
    match text.trim() {
        "" | "async" => Ok(Nowait::Async),
        "sync" => Ok(Nowait::Sync),
        _ => Err(SettingError::Nowait),
    }
}

/// The number in the variable `name`, described by `what`; `None` if it is not set, or invalid,
/// which is reported.
#[must_use]
pub fn number<N>(name: &str, what: &str, range: RangeInclusive<N>) -> Option<N>
where
    N: FromStr + PartialOrd + Display,
{
    let text = std::env::var_os(name).filter(|text| !text.is_empty())?;
    let text = text.to_string_lossy();
    let number = read(&text, what, range);
    let said = number.map_err(|reason| libgomp::error(&format!("{name}={text}: {reason}")));
    said.ok()
}

fn read<N>(text: &str, what: &str, range: RangeInclusive<N>) -> Result<N, SettingError>
where
    N: FromStr + PartialOrd + Display,
{
    let number = text.trim().parse().ok();
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| SettingError::Number {
            what: what.to_owned(),
            least: range.start().to_string(),
            most: range.end().to_string(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_range() {
        let read = |text| read(text, BYTES, 2..=300u32);
        for (text, number) in [("2", 2), (" 17 ", 17), ("300", 300)] {
            assert_eq!(read(text), Ok(number), "{text}");
        }
        let reason = "expected a number of bytes, 2 to 300; it counts as unset";
        for text in ["1", "301", "-3", "4294967298", "some", "\u{fffd}", "2k"] {
            assert_eq!(read(text).unwrap_err().to_string(), reason, "{text}");
        }
    }

    #[test]
    fn nowait_is_a_word() {
        for (text, nowait) in [
            ("", Nowait::Async),
            ("async", Nowait::Async),
            (" sync ", Nowait::Sync),
        ] {
            assert_eq!(nowait_of(text), Ok(nowait), "{text}");
        }
        for text in ["1", "SYNC", "synchronous", "\u{fffd}"] {
            assert!(nowait_of(text).is_err(), "{text}");
        }
    }
}
