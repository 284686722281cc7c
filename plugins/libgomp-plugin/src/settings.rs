//! Environment variables: which devices there are.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use host_rt::device::KINDS;

use crate::kind::kind;
use crate::libgomp;

/// What is read of the environment, beside what [`host_rt::env`] reads and what plugins read
/// for their kind.
const DEVICE: &str = "REVOFF_DEVICE";

/// The kind of devices that is no GPU, and for which there is no plugin. Those of the others
/// each plugin leaves to the other.
const NO_GPU: &str = "host";

/// The devices that libgomp is told of, by name: those that `REVOFF_DEVICE` lists, or all
/// GPUs.
pub(crate) fn devices() -> Vec<String> {
    let list = std::env::var_os(DEVICE).filter(|list| !list.is_empty());
    match list.as_ref().map(|list| list.to_string_lossy()) {
        Some(list) => {
            let names = named(&list).unwrap_or_else(|reason| {
                libgomp::error(&format!("{DEVICE}={list}: {reason}"));
                Vec::new()
            });
            let of_each = names.into_iter().map(|name| match suits(name) {
                Ok(names) => names,
                Err(reason) => {
                    libgomp::error(&format!("{DEVICE}={list}: {reason}"));
                    Vec::new()
                }
            });
            of_each.flatten().collect()
        }
        None => match of_kind(kind().devices[0]) {
            Ok(names) => names,
            Err(reason) => {
                libgomp::debug(&format!("no GPU: {reason}"));
                Vec::new()
            }
        },
    }
}

/// The names in a list.
///
/// # Errors
/// There is none: in words.
fn named(list: &str) -> Result<Vec<&str>, String> {
    let names = list.split(',').map(str::trim);
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    match names.is_empty() {
        false => Ok(names),
        true => Err(format!("it names no device; expected {}", expected())),
    }
}

/// The kinds of devices that run images of GCC's.
fn gpus() -> impl Iterator<Item = &'static str> {
    let kinds = KINDS.iter().map(|kind| kind.name);
    kinds.filter(|&name| name != NO_GPU)
}

/// What a list of devices is expected to say.
fn expected() -> String {
    let gpus: Vec<_> = gpus().collect();
    format!(
        "one of {}, or one device of them such as `cuda:0`",
        gpus.join(", ")
    )
}

/// The devices that `name` stands for.
fn suits(name: &str) -> Result<Vec<String>, String> {
    let of = name.split(':').next().unwrap_or(name);
    if !kind().devices.contains(&of) {
        if gpus().any(|gpu| gpu == of) {
            return Ok(Vec::new());
        }
        let expected = expected();
        return Err(format!(
            "`{name}` runs no images of GCC's; expected {expected}"
        ));
    }
    let there = of_kind(of)?;
    if name == of {
        return Ok(there);
    }
    // What is not numbered has more names than it lists.
    let is_there = there.iter().any(|known| known == name || known == of);
    if is_there {
        return Ok(vec![name.to_owned()]);
    }
    Err(format!("no `{name}` here; there are: {}", there.join(", ")))
}

/// The devices of a kind that are there.
///
/// # Errors
/// There is none, for a reason in words.
fn of_kind(name: &str) -> Result<Vec<String>, String> {
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| format!("no devices of kind `{name}`"))?;
    let devices = kind.devices().map_err(|error| error.to_string())?;
    match devices.is_empty() {
        false => Ok(devices),
        true => Err(format!(
            "no devices of kind `{name}`: their runtime is here, and lists none \
             (CUDA_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES hide devices)"
        )),
    }
}

/// What a variable is expected to say.
pub const BYTES: &str = "a number of bytes";

/// The number that the variable `name` says, which is `what`; `None` without one, or with
/// something that is none of the range, which is said.
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

fn read<N>(text: &str, what: &str, range: RangeInclusive<N>) -> Result<N, String>
where
    N: FromStr + PartialOrd + Display,
{
    let number = text.trim().parse().ok();
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            format!("expected {what}, {least} to {most}; it counts as unset")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_names_nothing_is_refused() {
        assert_eq!(named(" emu , cuda:0,"), Ok(vec!["emu", "cuda:0"]));
        for list in [" ", ",", " ,,"] {
            let error = named(list).unwrap_err();
            let texts = ["names no device", "emu", "cuda:0"];
            assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        }
    }

    #[test]
    fn numbers_are_those_of_the_range() {
        let read = |text| read(text, BYTES, 2..=300u32);
        for (text, number) in [("2", 2), (" 17 ", 17), ("300", 300)] {
            assert_eq!(read(text), Ok(number), "{text}");
        }
        let reason = "expected a number of bytes, 2 to 300; it counts as unset";
        for text in ["1", "301", "-3", "4294967298", "some", "\u{fffd}", "2k"] {
            assert_eq!(read(text), Err(reason.to_owned()), "{text}");
        }
    }
}
