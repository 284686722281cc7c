//! `revoff devices`: the devices of this machine, and the cost of reverse offload on each.

use std::fmt::{self, Write};

use clap::Args;
use revoff_host::targets::count::Count;
use revoff_host::{Runtime, device, env};
use serde::Serialize;

use crate::{environment, output};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    devices: Vec<Device>,
    environment: Vec<Variable>,
}

#[derive(Debug, Serialize)]
struct Device {
    /// The device, or the kind without any device.
    name: String,
    about: &'static str,
    /// Its description; absent if it cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<Opened>,
    /// The reason why it cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Opened {
    description: String,
    memory_bytes: u64,
    memory_used_bytes: u64,
    can_wake_host: bool,
    cost: Cost,
}

/// The resources of calls to the host on a device, with one wire.
#[derive(Debug, Serialize)]
struct Cost {
    mapped_bytes: u64,
    device_bytes: u64,
    threads: usize,
}

#[derive(Debug, Serialize)]
struct Variable {
    name: &'static str,
    value: Option<String>,
    about: &'static str,
}

/// Lists everything.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    // Invalid variables are not a fault of a device.
    let env = env::Env::read()?;
    let devices = device::KINDS
        .iter()
        .flat_map(|kind| of_kind(kind, &env))
        .collect();
    let environment = environment::variables()
        .map(|(name, about)| Variable {
            name,
            value: value(name),
            about,
        })
        .collect();
    let answer = Answer {
        devices,
        environment,
    };
    if options.json {
        output::json(&answer)
    } else {
        output::print(&render(&answer)?)
    }
}

/// The devices of a kind, or the reason why there are none.
fn of_kind(kind: &device::Kind, env: &env::Env) -> Vec<Device> {
    let device = |name: String, opened: Result<Opened, revoff_host::RuntimeError>| {
        let (opened, error) = match opened {
            Ok(opened) => (Some(opened), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Device {
            name,
            about: kind.about,
            opened,
            error,
        }
    };
    match kind.devices() {
        Ok(names) => names
            .into_iter()
            .map(|name| {
                let opened = open(&name, env);
                device(name, opened)
            })
            .collect(),
        Err(error) => vec![device(kind.name.to_owned(), Err(error.into()))],
    }
}

/// The variable's value; one that is empty counts as unset.
fn value(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

fn open(name: &str, env: &env::Env) -> Result<Opened, revoff_host::RuntimeError> {
    let can_wake_host = device::open(name, env)?.can_wake_host();
    let runtime = Runtime::open(name)?;
    let (memory, cost) = (runtime.memory(), runtime.cost());
    Ok(Opened {
        description: runtime.description(),
        memory_bytes: memory.total,
        memory_used_bytes: memory.used,
        can_wake_host,
        cost: Cost {
            mapped_bytes: cost.mapped,
            device_bytes: cost.device,
            threads: cost.threads,
        },
    })
}

fn render(answer: &Answer) -> Result<String, fmt::Error> {
    let mut text = String::new();
    for device in &answer.devices {
        writeln!(text, "{}: {}", device.name, device.about)?;
        if let Some(opened) = &device.opened {
            let cost = &opened.cost;
            writeln!(text, "  {}", opened.description)?;
            writeln!(
                text,
                "  memory: {}, {} used",
                bytes(opened.memory_bytes),
                bytes(opened.memory_used_bytes),
            )?;
            let can = if opened.can_wake_host {
                "can"
            } else {
                "cannot"
            };
            writeln!(text, "  its threads {can} wake a sleeping host")?;
            writeln!(
                text,
                "  calls to the host take {} of mapped and {} of device memory, and at most {}",
                bytes(cost.mapped_bytes),
                bytes(cost.device_bytes),
                Count(cost.threads as u64, "thread"),
            )?;
        }
        if let Some(error) = &device.error {
            writeln!(text, "  does not open: {error}")?;
        }
    }
    writeln!(text, "\nenvironment:")?;
    for variable in &answer.environment {
        let value = variable.value.as_deref().unwrap_or("(not set)");
        writeln!(text, "  {}={value}: {}", variable.name, variable.about)?;
    }
    Ok(text)
}

/// A size in the largest unit not above it.
fn bytes(bytes: u64) -> String {
    let units = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    match units.into_iter().find(|&(unit, _)| bytes >= unit) {
        Some((unit, name)) => {
            let text = format!("{:.1}", bytes as f64 / unit as f64);
            format!("{} {name}", text.strip_suffix(".0").unwrap_or(&text))
        }
        None => Count(bytes, "byte").to_string(),
    }
}
