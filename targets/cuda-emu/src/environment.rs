//! The GPUs that the environment describes, for programs that load this driver as `libcuda.so.1`.

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
use ptx_emu::{Options, Trace};
use targets::DeviceArch;

use crate::code::{Answer, Code};
use crate::driver::add_gpu;
use crate::faults;
use crate::state::gpu::GpuOptions;

/// The architecture of plain `emu`.
const DEFAULT_ARCH: u32 = 90;

/// The most GPUs.
const MAX_GPUS: usize = 64;

/// Bytes of a GPU's memory.
const MEMORY: RangeInclusive<u64> = 1 << 20..=1 << 40;

/// The filter of the log unless `REVOFF_LOG` sets one: images that are not loaded and why, kernels that are not
/// launched, functions that are not supported.
const SHOWN: &str = "cuda_emu=warn";

/// Adds them.
pub(crate) fn add_gpus() -> Answer {
    if let Err(error) = revoff_log::show(Some(SHOWN)) {
        report(&error.to_string());
    }
    let say = |reason: &dyn std::error::Error| {
        report(&reason.to_string());
        Code::INVALID_VALUE
    };
    print_at_exit().map_err(|error| say(error))?;
    if faults::are_set() {
        static ONCE: Once = Once::new();
        at_exit(&ONCE, report_missed_faults);
    }
    for options in describe().map_err(|error| say(&error))? {
        add_gpu(options).map_err(|error| say(&error))?;
    }
    Ok(())
}

/// The GPUs' properties.
fn describe() -> Result<Vec<GpuOptions>, SettingError> {
    let defaults = Options::default();
    let arches = arches()?;
    let machine = Options {
        memory: memory(defaults.memory)?,
        processors: number_in("REVOFF_EMU_THREADS", defaults.processors.into(), 1..=1024)? as u32,
        check: number_in("REVOFF_EMU_CHECK", 0, 0..=1)? != 0,
        patience: Duration::from_secs(number("REVOFF_EMU_PATIENCE", defaults.patience.as_secs())?),
        output: Arc::new(|text| {
            let mut output = std::io::stdout().lock();
            // A closed output is the program's business.
            let _ = output
                .write_all(text.as_bytes())
                .and_then(|()| output.flush());
        }),
        trace: trace()?,
        costs: (number_in("REVOFF_EMU_COSTS", 0, 0..=1)? != 0).then(costs),
        ..defaults
    };
    let options = |sm| GpuOptions {
        machine: Options {
            sm,
            ..machine.clone()
        },
        is_strict: false,
        report: Arc::new(report),
    };
    Ok(arches.into_iter().map(options).collect())
}

fn memory(default: u64) -> Result<u64, SettingError> {
    let read = |text: &str| parse_bytes(text).filter(|bytes| MEMORY.contains(bytes));
    value("REVOFF_EMU_MEMORY", default, "a size from 1M to 1T", read)
}

/// The architectures of the GPUs, in their order.
fn arches() -> Result<Vec<u32>, SettingError> {
    let vendor = Vendor {
        prefix: "sm_",
        names: &targets::device_arch::nvidia_names(),
        max: MAX_GPUS,
        default: Some(DEFAULT_ARCH),
    };
    vendor.described(|text| match text.parse() {
        Ok(DeviceArch::Nvidia(sm)) if sm.exists() => Some(sm.number),
        _ => None,
    })
}

/// The thread whose instructions are printed.
fn trace() -> Result<Option<Trace>, SettingError> {
    let traced = Traced::from_environment()?;
    Ok(traced.map(|traced| Trace {
        block: [traced.block, 0, 0],
        thread: [traced.thread, 0, 0],
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

/// Says something to the user of a program that knows nothing of this driver.
pub(crate) fn report(line: &str) {
    // It does not read our log. A closed standard error is its business.
    let _ = writeln!(stderr(), "emulated GPU: {line}");
}
