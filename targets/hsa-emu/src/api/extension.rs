//! Extensions: AMD's profiler has no functions beyond the others, and its loader has a table.

use std::ffi::{CStr, c_char, c_void};

use hsa_runtime_sys::*;

use super::loader;
use crate::pointers::Out;
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status};

/// The bits of supported extensions.
pub(crate) fn mask() -> [u8; 128] {
    let mut mask = [0; 128];
    for extension in [HSA_EXTENSION_AMD_PROFILER, HSA_EXTENSION_AMD_LOADER] {
        let byte: &mut u8 = &mut mask[extension as usize / 8];
        *byte |= 1 << (extension % 8);
    }
    mask
}

/// The minor version of a supported extension.
fn minor(extension: u16, major: u16) -> Option<u16> {
    match (extension.into(), major) {
        (HSA_EXTENSION_AMD_PROFILER, 1) => Some(0),
        (HSA_EXTENSION_AMD_LOADER, 1) => Some(3),
        _ => None,
    }
}

fn name(extension: u16) -> Option<&'static CStr> {
    Some(match extension.into() {
        HSA_EXTENSION_FINALIZER => c"HSA_EXTENSION_FINALIZER",
        HSA_EXTENSION_IMAGES => c"HSA_EXTENSION_IMAGES",
        HSA_EXTENSION_PERFORMANCE_COUNTERS => c"HSA_EXTENSION_PERFORMANCE_COUNTERS",
        HSA_EXTENSION_PROFILING_EVENTS => c"HSA_EXTENSION_PROFILING_EVENTS",
        HSA_EXTENSION_AMD_PROFILER => c"HSA_EXTENSION_AMD_PROFILER",
        HSA_EXTENSION_AMD_LOADER => c"HSA_EXTENSION_AMD_LOADER",
        HSA_EXTENSION_AMD_AQLPROFILE => c"HSA_EXTENSION_AMD_AQLPROFILE",
        _ => return None,
    })
}

pub extern "C" fn hsa_extension_get_name(extension: u16, text: Out<*const c_char>) -> hsa_status_t {
    answer("hsa_extension_get_name", |_| {
        let name = name(extension).ok_or(Status::INVALID_ARGUMENT)?;
        text.set(name.as_ptr())
    })
}

fn supports(extension: u16, (major, least): (u16, u16), is_supported: Out<bool>) -> Answer {
    name(extension).ok_or(Status::INVALID_ARGUMENT)?;
    let minor = minor(extension, major);
    is_supported.set(minor.is_some_and(|minor| minor >= least))
}

fn supports_major(extension: u16, major: u16, least: Out<u16>, is: Out<bool>) -> Answer {
    name(extension).ok_or(Status::INVALID_ARGUMENT)?;
    let minor = minor(extension, major);
    least.set(minor.unwrap_or(0))?;
    is.set(minor.is_some())
}

pub extern "C" fn hsa_system_extension_supported(
    extension: u16,
    major: u16,
    minor: u16,
    is_supported: Out<bool>,
) -> hsa_status_t {
    answer("hsa_system_extension_supported", |_| {
        supports(extension, (major, minor), is_supported)
    })
}

pub extern "C" fn hsa_system_major_extension_supported(
    extension: u16,
    major: u16,
    minor: Out<u16>,
    is_supported: Out<bool>,
) -> hsa_status_t {
    answer("hsa_system_major_extension_supported", |_| {
        supports_major(extension, major, minor, is_supported)
    })
}

fn of_agent(runtime: &Runtime, agent: hsa_agent_t) -> Answer {
    runtime.agent(agent).map(drop)
}

pub extern "C" fn hsa_agent_extension_supported(
    extension: u16,
    agent: hsa_agent_t,
    major: u16,
    minor: u16,
    is_supported: Out<bool>,
) -> hsa_status_t {
    answer("hsa_agent_extension_supported", |runtime| {
        of_agent(runtime, agent)?;
        supports(extension, (major, minor), is_supported)
    })
}

pub extern "C" fn hsa_agent_major_extension_supported(
    extension: u16,
    agent: hsa_agent_t,
    major: u16,
    minor: Out<u16>,
    is_supported: Out<bool>,
) -> hsa_status_t {
    answer("hsa_agent_major_extension_supported", |runtime| {
        of_agent(runtime, agent)?;
        supports_major(extension, major, minor, is_supported)
    })
}

/// Writes as many functions of a table as there is room for.
fn table(extension: u16, major: u16, len: usize, table: Out<c_void>) -> Answer {
    if minor(extension, major).is_none() {
        return Err(Status::ERROR);
    }
    let functions: &[*const c_void] = match extension.into() {
        HSA_EXTENSION_AMD_LOADER => &loader::table(),
        _ => &[],
    };
    let room = (len / size_of::<*const c_void>()).min(functions.len());
    let table = table.of::<*const c_void>();
    table.set_all(functions.iter().copied(), room)
}

pub extern "C" fn hsa_system_get_major_extension_table(
    extension: u16,
    major: u16,
    len: usize,
    functions: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_system_get_major_extension_table", |_| {
        if len == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        table(extension, major, len, functions)
    })
}

pub extern "C" fn hsa_system_get_extension_table(
    extension: u16,
    major: u16,
    minor: u16,
    functions: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_system_get_extension_table", |_| {
        // The functions of each minor version.
        let count = match (extension.into(), minor) {
            (HSA_EXTENSION_AMD_LOADER, 0) => 3,
            (HSA_EXTENSION_AMD_LOADER, 1) => 5,
            (HSA_EXTENSION_AMD_LOADER, 2) => 6,
            (HSA_EXTENSION_AMD_LOADER, 3) => 7,
            _ => return Err(Status::ERROR),
        };
        table(
            extension,
            major,
            count * size_of::<*const c_void>(),
            functions,
        )
    })
}
