//! Starting the runtime, and its properties.

use std::ffi::{CStr, c_char, c_void};

use hsa_runtime_sys::*;

use crate::clock;
use crate::environment;
use crate::faults;
use crate::pointers::Out;
use crate::runtime::{answer, answer_always, text_of, unstarted};
use crate::settings;
use crate::status::Status;

/// The version of HSA.
pub(crate) const VERSION: (u16, u16) = (1, 1);

/// The name of the build, whose first part is ROCr's version.
const BUILD: &CStr = c"1.5.0-emulated";

pub extern "C" fn hsa_init() -> hsa_status_t {
    answer_always("hsa_init", || {
        if let Some(reason) = faults::invalid().or_else(settings::invalid) {
            environment::report(&reason.to_string());
            return Err(Status::ERROR);
        }
        unstarted()?.start(environment::add_gpus)
    })
}

pub extern "C" fn hsa_shut_down() -> hsa_status_t {
    answer("hsa_shut_down", |runtime| runtime.shut_down())
}

pub extern "C" fn hsa_status_string(
    status: hsa_status_t,
    text: Out<*const c_char>,
) -> hsa_status_t {
    answer_always("hsa_status_string", || {
        let known = text_of(status);
        text.set(known.map_or(std::ptr::null(), CStr::as_ptr))?;
        known.map(|_| ()).ok_or(Status::INVALID_ARGUMENT)
    })
}

pub extern "C" fn hsa_system_get_info(what: hsa_system_info_t, value: Out<c_void>) -> hsa_status_t {
    answer("hsa_system_get_info", |_| match what {
        HSA_SYSTEM_INFO_VERSION_MAJOR => value.of::<u16>().set(VERSION.0),
        HSA_SYSTEM_INFO_VERSION_MINOR => value.of::<u16>().set(VERSION.1),
        HSA_SYSTEM_INFO_TIMESTAMP => value.of::<u64>().set(clock::now()),
        HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY => value.of::<u64>().set(clock::FREQUENCY),
        HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT => value.of::<u64>().set(u64::MAX),
        HSA_SYSTEM_INFO_ENDIANNESS => value.of::<u32>().set(HSA_ENDIANNESS_LITTLE),
        HSA_SYSTEM_INFO_MACHINE_MODEL => value.of::<u32>().set(HSA_MACHINE_MODEL_LARGE),
        HSA_SYSTEM_INFO_EXTENSIONS => value.of::<[u8; 128]>().set(super::extension::mask()),
        HSA_AMD_SYSTEM_INFO_BUILD_VERSION => value.of::<*const c_char>().set(BUILD.as_ptr()),
        HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED | HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT => {
            value.of::<bool>().set(false)
        }
        _ => Err(Status::INVALID_ARGUMENT),
    })
}
