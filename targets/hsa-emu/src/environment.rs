//! The GPUs that the environment describes, for programs that load this runtime as `libhsa-runtime64.so.1`.

use std::io::{Write, stderr};
use std::ops::RangeInclusive;
use std::sync::{Arc, Once};
use std::time::Duration;

use bus_cost::CountCosts;
use emu_driver::calls::print_at_exit;
use emu_driver::devices::Vendor;
use emu_driver::process::{
    SettingError, at_exit, is_forked, number, number_in, parse_bytes, value,
};
use emu_driver::trace::Traced;
use gcn_emu::{Arch, Options, Trace, Weak};

use crate::faults;
use crate::gpu::GpuOptions;
use crate::memory::{MAX_GPUS, MAX_MEMORY};
use crate::runtime::add_gpu;
use crate::status::{Answer, Status};

/// Bytes of a GPU's memory.
const MEMORY: RangeInclusive<u64> = 1 << 20..=MAX_MEMORY;
const DEFAULT_MEMORY: u64 = 16 << 30;

/// The filter of the log unless `REVOFF_LOG` sets one: packets that are invalid, functions that are not supported.
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
    if faults::are_set() {
        static ONCE: Once = Once::new();
        at_exit(&ONCE, report_missed_faults);
    }
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
    let check = number_in("REVOFF_EMU_CHECK", 0, 0..=1)? != 0;
    let weak = weak(check)?;
    let options = |arch| {
        let machine = Options {
            arch,
            processors: number_in("REVOFF_EMU_THREADS", defaults.processors.into(), 1..=1024)?
                as u32,
            patience: Duration::from_secs(number(
                "REVOFF_EMU_PATIENCE",
                defaults.patience.as_secs(),
            )?),
            trace: trace()?,
            weak,
            costs: (number_in("REVOFF_EMU_COSTS", 0, 0..=1)? != 0).then(costs),
            check,
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

/// The architectures of the GPUs, in their order.
fn arches() -> Result<Vec<Arch>, SettingError> {
    let vendor = Vendor {
        prefix: "gfx",
        names: &Arch::ALL.map(Arch::name).join(", "),
        max: MAX_GPUS,
        // A program for NVIDIA's GPUs sees none of AMD's beside them, unless its user asks for it.
        default: None,
    };
    vendor.described(|text| text.parse().ok())
}

/// Weak memory mode, if it is asked for. As for other variables, an empty value asks for nothing.
fn weak(is_checked: bool) -> Result<Option<Weak>, SettingError> {
    let read = |text: &str| match text {
        "" => Some(None),
        _ if is_checked => None,
        _ => Weak::parse(text).map(Some),
    };
    let expected = match is_checked {
        true => "nothing beside REVOFF_EMU_CHECK=1",
        false => Weak::EXPECTED,
    };
    value("REVOFF_EMU_WEAK", None, expected, read)
}

/// The work-item whose instructions are printed.
fn trace() -> Result<Option<Trace>, SettingError> {
    let traced = Traced::from_environment()?;
    Ok(traced.map(|traced| Trace {
        workgroup: [traced.block, 0, 0],
        lane: [traced.thread, 0, 0],
        sink: Arc::new(traced.sink(report)),
    }))
}

/// A report of what each kernel does on the bus.
fn costs() -> CountCosts {
    CountCosts::printed(report)
}

extern "C" fn report_missed_faults() {
    if is_forked() {
        return;
    }
    faults::missed().iter().for_each(|message| report(message));
}

/// Says something to the user of a program that knows nothing of this runtime.
pub(crate) fn report(line: &str) {
    // It does not read our log. A closed standard error is its business.
    let _ = writeln!(stderr(), "emulated GPU: {line}");
}
