//! Starting the driver.

use crate::code::Code;
use crate::driver::{answer, gpu_count, start};
use crate::environment;
use crate::faults;
use crate::pointers::Out;
use crate::settings::{self, settings};

pub extern "C" fn cuInit(flags: u32) -> u32 {
    answer("cuInit", || {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if let Some(reason) = settings::invalid().cloned().or_else(faults::invalid) {
            environment::report(&reason.to_string());
            return Err(Code::INVALID_VALUE);
        }
        start(environment::add_gpus)?;
        match gpu_count() {
            0 => Err(Code::NO_DEVICE),
            _ => Ok(()),
        }
    })
}

pub extern "C" fn cuDriverGetVersion(version: Out<i32>) -> u32 {
    answer("cuDriverGetVersion", || version.set(settings().version))
}
