//! The devices that libgomp gets, as chosen by the environment.

use revoff_host::device::{self, KINDS};

use crate::error::ChoiceError;
use crate::kind::kind;
use crate::libgomp;

/// The variable that lists devices.
const DEVICE: &str = "REVOFF_DEVICE";

/// The kind of device that is no GPU, for which there is no plugin. Each plugin ignores the other's
/// kinds.
const NO_GPU: &str = "host";

/// The names of the devices in `REVOFF_DEVICE`, or of all GPUs.
pub(crate) fn names() -> Vec<String> {
    let list = std::env::var_os(DEVICE).filter(|list| !list.is_empty());
    match list.as_ref().map(|list| list.to_string_lossy()) {
        Some(list) => {
            let names = named(&list).unwrap_or_else(|reason| {
                libgomp::error_of_all(&format!("{DEVICE}={list}: {reason}"));
                Vec::new()
            });
            let of_each = names.into_iter().map(|name| {
                let name = match device::resolve(name) {
                    Ok(name) => name,
                    Err(error) => {
                        libgomp::error_of_all(&format!("{DEVICE}={list}: {error}"));
                        return Vec::new();
                    }
                };
                if !is_gpu(&name) {
                    let expected = expected();
                    libgomp::error_of_all(&format!(
                        "{DEVICE}={list}: `{name}` runs no images of GCC's; expected {expected}"
                    ));
                    return Vec::new();
                }
                suits(&name).unwrap_or_else(|reason| {
                    libgomp::error(&format!("{DEVICE}={list}: {reason}"));
                    Vec::new()
                })
            });
            of_each.flatten().collect()
        }
        None => match of_kind(kind().devices) {
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
/// There is no name in it.
fn named(list: &str) -> Result<Vec<&str>, ChoiceError> {
    let names = list.split(',').map(str::trim);
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    match names.is_empty() {
        false => Ok(names),
        true => Err(ChoiceError::Empty(expected())),
    }
}

/// The kinds of devices that run GCC's images.
fn gpus() -> impl Iterator<Item = &'static str> {
    let kinds = KINDS.iter().map(|kind| kind.name);
    kinds.filter(|&name| name != NO_GPU)
}

/// The expected form of a list of devices.
fn expected() -> String {
    let gpus: Vec<_> = gpus().collect();
    format!(
        "one of {}, one device of them such as `cuda:0`, or `auto`",
        gpus.join(", ")
    )
}

/// The kind of emulated GPUs, of all vendors.
const EMULATED: &str = "emu";

/// The kind of the device called `name`.
fn kind_of(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// Whether the device called `name` is one of this plugin's.
fn is_own(name: &str) -> bool {
    match name.split_once(':').unwrap_or((name, "")) {
        (EMULATED, arch) => (kind().emulates)(arch),
        (of, _) => of == kind().devices,
    }
}

/// Whether `name` is a GPU, of this plugin or another.
fn is_gpu(name: &str) -> bool {
    gpus().any(|gpu| gpu == kind_of(name))
}

/// The devices that `name` denotes: none if it is another plugin's.
fn suits(name: &str) -> Result<Vec<String>, ChoiceError> {
    if !is_own(name) {
        return Ok(Vec::new());
    }
    let of = kind_of(name);
    let there = of_kind(of)?;
    if name == of {
        return Ok(there);
    }
    // Kinds without numbers accept more names than they list.
    let is_there = there.iter().any(|known| known == name || known == of);
    if is_there {
        return Ok(vec![name.to_owned()]);
    }
    Err(ChoiceError::Unknown {
        name: name.to_owned(),
        known: there,
    })
}

/// The available devices of a kind.
///
/// # Errors
/// There is none; the reason.
fn of_kind(name: &str) -> Result<Vec<String>, ChoiceError> {
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| ChoiceError::NoKind(name.to_owned()))?;
    let devices = kind.devices()?;
    match devices.is_empty() {
        false => Ok(devices),
        true => Err(ChoiceError::NoneVisible(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_names_nothing_is_refused() {
        assert_eq!(named(" emu , cuda:0,").unwrap(), ["emu", "cuda:0"]);
        for list in [" ", ",", " ,,"] {
            let error = named(list).unwrap_err().to_string();
            let texts = ["names no device", "emu", "cuda:0"];
            assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        }
    }
}
