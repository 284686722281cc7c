//! The GPUs that the environment describes, for programs that load this driver as `libcuda.so.1`.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use emu_driver::process::setting;
use ptx_emu::Options;
use targets::DeviceArch;

use crate::code::{Answer, Code};
use crate::driver::add_gpu;
use crate::gpu::GpuOptions;

/// The architecture of plain `emu`.
const DEFAULT_ARCH: &str = "sm_90";

/// Adds them.
pub(crate) fn add_gpus() -> Answer {
    let added = describe().and_then(|(count, options)| {
        for _ in 0..count {
            add_gpu(options.clone()).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
    added.map_err(|reason| {
        report(&reason);
        Code::INVALID_VALUE
    })
}

/// The number of GPUs and their properties.
fn describe() -> Result<(u64, GpuOptions), String> {
    let arch = std::env::var("REVOFF_EMU_ARCH").unwrap_or_else(|_| DEFAULT_ARCH.to_owned());
    let sm = match arch.parse() {
        Ok(DeviceArch::Nvidia(sm)) if sm.exists() => sm,
        _ => {
            let names = targets::device_arch::nvidia_names();
            return Err(format!("REVOFF_EMU_ARCH={arch:?}: one of {names} expected"));
        }
    };
    let defaults = Options::default();
    let machine = Options {
        sm: sm.number,
        memory: setting("REVOFF_EMU_MEMORY", defaults.memory),
        processors: setting("REVOFF_EMU_THREADS", defaults.processors.into()) as u32,
        check: setting("REVOFF_EMU_CHECK", 0) == 1,
        patience: Duration::from_secs(setting(
            "REVOFF_EMU_PATIENCE",
            defaults.patience.as_secs(),
        )),
        output: Arc::new(|text| {
            let mut output = std::io::stdout().lock();
            // A closed output is the program's business.
            let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
        }),
        trace: None,
        costs: None,
    };
    let options = GpuOptions {
        machine,
        copies_in_order: false,
        report: Arc::new(report),
    };
    Ok((setting("REVOFF_EMU_DEVICES", 1), options))
}

/// Says something to the user of a program that knows nothing of this driver.
#[expect(clippy::print_stderr, reason = "the program does not read our log")]
fn report(line: &str) {
    eprintln!("emulated GPU: {line}");
}
