//! The GPUs that the environment describes, for programs that load this runtime as `libhsa-runtime64.so.1`.

use std::io::{Write, stderr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use emu_driver::calls::print_at_exit;
use emu_driver::devices::{Devices, is_foreign};
use emu_driver::process::{SettingError, number, number_in, parse_bytes, value};
use gcn_emu::{Arch, Options};

use crate::gpu::GpuOptions;
use crate::memory::{MAX_GPUS, MAX_MEMORY};
use crate::runtime::add_gpu;
use crate::status::{Answer, Status};

/// The architecture of a GPU that the environment does not name.
const DEFAULT_ARCH: Arch = Arch::Gfx90a;

/// Bytes of a GPU's memory.
const MEMORY: RangeInclusive<u64> = 1 << 20..=MAX_MEMORY;
const DEFAULT_MEMORY: u64 = 16 << 30;

/// What is logged unless `REVOFF_LOG` says otherwise: packets that are invalid, functions that are not supported.
const SHOWN: &str = "hsa_emu=warn";

/// Adds them.
pub(crate) fn add_gpus() -> Answer {
    if let Err(error) = revoff_log::show(Some(SHOWN)) {
        report(&error.to_string());
    }
    let say = |reason: &dyn std::error::Error| {
        report(&reason.to_string());
        Status::ERROR
    };
    print_at_exit().map_err(|error| say(error))?;
    for options in describe().map_err(|error| say(&error))? {
        add_gpu(options).map_err(|error| {
            say(&error);
            Status::OUT_OF_RESOURCES
        })?;
    }
    Ok(())
}

/// The GPUs' properties.
fn describe() -> Result<Vec<GpuOptions>, SettingError> {
    let defaults = Options::default();
    let options = |arch| {
        let machine = Options {
            arch,
            processors: number_in("REVOFF_EMU_THREADS", defaults.processors.into(), 1..=1024)?
                as u32,
            patience: Duration::from_secs(number(
                "REVOFF_EMU_PATIENCE",
                defaults.patience.as_secs(),
            )?),
            ..Options::default()
        };
        Ok(GpuOptions {
            machine,
            memory: memory()?,
            is_strict: false,
            report: Arc::new(report),
        })
    };
    arches()?.into_iter().map(options).collect()
}

fn memory() -> Result<u64, SettingError> {
    let read = |text: &str| parse_bytes(text).filter(|bytes| MEMORY.contains(bytes));
    value(
        "REVOFF_EMU_MEMORY",
        DEFAULT_MEMORY,
        "a size from 1M to 1T",
        read,
    )
}

/// The prefix of architectures.
const PREFIX: &str = "gfx";

/// The architectures of the GPUs, in their order.
fn arches() -> Result<Vec<Arch>, SettingError> {
    let names = Arch::ALL.map(Arch::name).join(", ");
    let arch = |text: &str| text.parse().ok();
    // The variable may be for the GPUs of another vendor.
    let arch_of_all = |text: &str| match is_foreign(text, PREFIX) {
        true => Some(DEFAULT_ARCH),
        false => arch(text),
    };
    let expected = format!("one of {names}");
    let all = value("REVOFF_EMU_ARCH", DEFAULT_ARCH, &expected, arch_of_all)?;
    let expected = format!("a number up to {MAX_GPUS}, or a list of {names}");
    let default = Devices::Count(1);
    let read = |text: &str| Devices::read(text, MAX_GPUS, PREFIX, arch);
    Ok(
        match value("REVOFF_EMU_DEVICES", default, &expected, read)? {
            Devices::Count(count) => vec![all; count],
            Devices::List(arches) => arches,
        },
    )
}

/// Says something to the user of a program that knows nothing of this runtime.
pub(crate) fn report(line: &str) {
    // It does not read our log. A closed standard error is its business.
    let _ = writeln!(stderr(), "emulated GPU: {line}");
}
