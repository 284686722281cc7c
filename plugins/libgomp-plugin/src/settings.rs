//! Environment variables: which devices there are.

use host_rt::device::KINDS;

use crate::kind::kind;
use crate::libgomp;

/// What is read of the environment, beside what [`host_rt::env`] reads and what plugins read
/// for their kind.
pub(crate) const DEVICE: &str = "REVOFF_DEVICE";

/// The kinds of devices for which there are plugins: each leaves the others' alone.
const KNOWN: [&str; 3] = ["cuda", "emu", "hsa"];

/// The devices that libgomp is told of, by name: those that `REVOFF_DEVICE` lists, or all
/// GPUs.
pub(crate) fn devices() -> Vec<String> {
    match std::env::var(DEVICE) {
        Ok(list) if !list.is_empty() => {
            let names = list
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            names
                .flat_map(|name| match suits(name) {
                    Ok(names) => names,
                    Err(reason) => {
                        libgomp::error(&format!("{DEVICE}={list}: {reason}"));
                        Vec::new()
                    }
                })
                .collect()
        }
        _ => match of_kind(kind().devices[0]) {
            Ok(names) => names,
            Err(reason) => {
                libgomp::debug(&format!("no GPU: {reason}"));
                Vec::new()
            }
        },
    }
}

/// The devices that `name` stands for.
fn suits(name: &str) -> Result<Vec<String>, String> {
    let of = name.split(':').next().unwrap_or(name);
    if !kind().devices.contains(&of) {
        if KNOWN.contains(&of) {
            return Ok(Vec::new());
        }
        let (gpus, examples) = (kind().gpus, kind().examples);
        return Err(format!(
            "`{name}` runs no images of GCC's for {gpus}; {examples}"
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

fn of_kind(name: &str) -> Result<Vec<String>, String> {
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| format!("no devices of kind `{name}`"))?;
    kind.devices().map_err(|error| error.to_string())
}

/// The number that the variable `name` says; `default` without one, or with something else,
/// which is said.
#[must_use]
pub fn number(name: &str, unit: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) if !text.is_empty() => text.trim().parse().unwrap_or_else(|_| {
            libgomp::error(&format!(
                "{name}={text}: expected a number of {unit}; {default} it is"
            ));
            default
        }),
        _ => default,
    }
}
