//! The begin and end of each construct: the number of its device, its outcome, and the dump of the
//! mapping tables.

use std::sync::Once;

use super::requirements::is_memory_shared;
use super::{device_count, incompatible, read};
use crate::abi::{Ident, libomp};
use crate::device::Device;
use crate::device::table::Table;
use crate::report::message::{self, Failed};
use crate::report::source::SourceLocation;
use crate::settings::{self, Info};

/// The number of a construct's device, which may not exist; `None` if its host version must
/// run.
pub(crate) fn number_for(number: i64, at: *const Ident) -> Option<i64> {
    if settings::is_disabled() {
        return None;
    }
    let number = if number == -1 {
        libomp::default_device()
    } else {
        number
    };
    let count = device_count();
    if count == 0 {
        if settings::is_mandatory() {
            message::error(&format!(
                "No images found compatible with the installed hardware: {}",
                no_device()
            ));
            outcome(Err(Failed), at);
        } else if settings::devices().is_some() {
            // A user who names devices expects them to be used.
            static ONCE: Once = Once::new();
            ONCE.call_once(|| {
                message::message(&format!("target regions run on the host: {}", no_device()));
            });
        }
        return None;
    }
    (number != count as i64).then_some(number)
}

/// A message about missing devices, with the remedy.
fn no_device() -> String {
    let registry = read();
    let images = registry
        .libraries
        .iter()
        .flat_map(|library| &library.images);
    let named = settings::devices().map_or_else(
        || "set REVOFF_DEVICE to use a device that is not a GPU".to_owned(),
        |names| {
            format!(
                "REVOFF_DEVICE={} names none that runs them",
                names.join(",")
            )
        },
    );
    if is_memory_shared() {
        return "the program requires unified shared memory, which only `host` devices have, and they need an \
                image for processors"
            .to_owned();
    }
    format!(
        "{}; {named} (`revoff devices` lists them)",
        incompatible::kinds(images)
    )
}

/// Ends a construct. A failure ends the process, since a host version that ran now could find
/// incomplete data.
pub(crate) fn outcome(result: Result<(), Failed>, at: *const Ident) {
    let dumps = settings::info().has(Info::TABLES);
    if dumps {
        dump_tables(at);
    }
    if result.is_ok() {
        return;
    }
    if !dumps {
        message::error(
            "Consult https://openmp.llvm.org/design/Runtimes.html for debugging options.",
        );
    }
    // SAFETY: compilers pass null or a location.
    match unsafe { SourceLocation::of(at) } {
        Some(location) => message::write(format_args!("{location}: ")),
        None => {
            message::error(
                "Source location information not present. Compile with -g or -gline-tables-only.",
            );
        }
    }
    message::fatal(
        1,
        "failure of target construct while offloading is mandatory",
    )
}

/// Reports the mapping tables of all devices.
fn dump_tables(at: *const Ident) {
    // SAFETY: compilers pass null or a location.
    let location = unsafe { SourceLocation::shown(at) };
    let registry = read();
    let devices = registry.devices.iter().enumerate();
    let devices: Vec<_> = devices
        .map(|(number, device)| (number, device.get()))
        .collect();
    drop(registry);
    for (number, device) in devices {
        dump_table(number, device.as_deref(), &location);
    }
}

/// The same at the end of the program, in LLVM's order.
pub(crate) fn dump_at_end() {
    let registry = read();
    let devices = registry.devices.iter().enumerate().rev();
    let devices: Vec<_> = devices
        .map(|(number, device)| (number, device.get()))
        .collect();
    drop(registry);
    for (number, device) in devices {
        dump_table(number, device.as_deref(), "libomptarget:0:0");
    }
}

fn dump_table(number: usize, device: Option<&Device>, location: &str) {
    let empty = Table::default();
    let table = device.map_or(&empty, |device| &device.table);
    for line in table.lines(location) {
        message::info(number, &line);
    }
}

/// The lines of the mapping tables of all devices.
pub(crate) fn all_tables() -> Vec<(usize, Vec<String>)> {
    let registry = read();
    let devices = registry.devices.iter().enumerate();
    let empty = Table::default();
    let tables = devices.map(|(number, device)| {
        let device = device.get();
        let table = device.as_deref().map_or(&empty, |device| &device.table);
        (number, table.lines("libomptarget:0:0"))
    });
    tables.collect()
}
