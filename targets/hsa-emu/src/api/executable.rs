//! Executables: creating and loading them, and variables that programs define.

use std::ffi::c_void;

use emu_driver::process::lock;
use hsa_runtime_sys::*;

use super::code_object::find;
use crate::code::{CodeObject, Executable};
use crate::pointers::{In, Out, Text};
use crate::runtime::{Runtime, answer};
use crate::status::{Answer, Status};

fn create(runtime: &Runtime, made: Executable, executable: Out<hsa_executable_t>) -> Answer {
    if executable.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let handle = made.handle;
    lock(&runtime.executables).insert(handle, made);
    executable.set(hsa_executable_t { handle })
}

pub extern "C" fn hsa_executable_create_alt(
    profile: hsa_profile_t,
    rounding: hsa_default_float_rounding_mode_t,
    _options: In<u8>,
    executable: Out<hsa_executable_t>,
) -> hsa_status_t {
    answer("hsa_executable_create_alt", |runtime| {
        if profile > HSA_PROFILE_FULL || rounding > HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR {
            return Err(Status::INVALID_ARGUMENT);
        }
        create(
            runtime,
            Executable::new(profile, rounding, false),
            executable,
        )
    })
}

pub extern "C" fn hsa_executable_create(
    profile: hsa_profile_t,
    state: hsa_executable_state_t,
    _options: In<u8>,
    executable: Out<hsa_executable_t>,
) -> hsa_status_t {
    answer("hsa_executable_create", |runtime| {
        if profile > HSA_PROFILE_FULL || state > HSA_EXECUTABLE_STATE_FROZEN {
            return Err(Status::INVALID_ARGUMENT);
        }
        let rounding = HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT;
        let is_frozen = state == HSA_EXECUTABLE_STATE_FROZEN;
        create(
            runtime,
            Executable::new(profile, rounding, is_frozen),
            executable,
        )
    })
}

pub extern "C" fn hsa_executable_destroy(executable: hsa_executable_t) -> hsa_status_t {
    answer("hsa_executable_destroy", |runtime| {
        let destroyed = lock(&runtime.executables).remove(&executable.handle);
        destroyed.map(drop).ok_or(Status::INVALID_EXECUTABLE)
    })
}

/// Loads a code object; returns the handle of the loaded code object.
fn load(
    runtime: &Runtime,
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    code: &CodeObject,
) -> Answer<u64> {
    let gpu = runtime.gpu(agent)?;
    runtime.with_executable(executable, |executable| executable.load(&gpu, code))
}

pub extern "C" fn hsa_executable_load_agent_code_object(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    reader: hsa_code_object_reader_t,
    _options: In<u8>,
    loaded: Out<hsa_loaded_code_object_t>,
) -> hsa_status_t {
    answer("hsa_executable_load_agent_code_object", |runtime| {
        let code = find(runtime, reader.handle).ok_or(Status::INVALID_CODE_OBJECT_READER)?;
        let handle = load(runtime, executable, agent, &code)?;
        loaded.set_if_wanted(hsa_loaded_code_object_t { handle });
        Ok(())
    })
}

/// Rejects code objects for all agents of a program, which no compiler generates.
pub extern "C" fn hsa_executable_load_program_code_object(
    executable: hsa_executable_t,
    reader: hsa_code_object_reader_t,
    _options: In<u8>,
    _loaded: Out<hsa_loaded_code_object_t>,
) -> hsa_status_t {
    answer("hsa_executable_load_program_code_object", |runtime| {
        find(runtime, reader.handle).ok_or(Status::INVALID_CODE_OBJECT_READER)?;
        runtime.with_executable(executable, |executable| match executable.is_frozen {
            true => Err(Status::FROZEN_EXECUTABLE),
            false => Err(Status::INVALID_CODE_OBJECT),
        })
    })
}

pub extern "C" fn hsa_executable_load_code_object(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    code: hsa_code_object_t,
    _options: In<u8>,
) -> hsa_status_t {
    answer("hsa_executable_load_code_object", |runtime| {
        let code = find(runtime, code.handle).ok_or(Status::INVALID_CODE_OBJECT)?;
        load(runtime, executable, agent, &code).map(drop)
    })
}

pub extern "C" fn hsa_executable_freeze(
    executable: hsa_executable_t,
    _options: In<u8>,
) -> hsa_status_t {
    answer("hsa_executable_freeze", |runtime| {
        runtime.with_executable(executable, Executable::freeze)
    })
}

pub extern "C" fn hsa_executable_get_info(
    executable: hsa_executable_t,
    what: hsa_executable_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_executable_get_info", |runtime| {
        runtime.with_executable(executable, |executable| match what {
            HSA_EXECUTABLE_INFO_PROFILE => value.of::<u32>().set(executable.profile),
            HSA_EXECUTABLE_INFO_STATE => value.of::<u32>().set(match executable.is_frozen {
                true => HSA_EXECUTABLE_STATE_FROZEN,
                false => HSA_EXECUTABLE_STATE_UNFROZEN,
            }),
            HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE => {
                value.of::<u32>().set(executable.rounding)
            }
            _ => Err(Status::INVALID_ARGUMENT),
        })
    })
}

/// The result of a check that finds nothing: code objects are checked when they are loaded.
const VALID: u32 = 0;

pub extern "C" fn hsa_executable_validate(
    executable: hsa_executable_t,
    result: Out<u32>,
) -> hsa_status_t {
    answer("hsa_executable_validate", |runtime| {
        runtime.with_executable(executable, |_| result.set(VALID))
    })
}

pub extern "C" fn hsa_executable_validate_alt(
    executable: hsa_executable_t,
    _options: In<u8>,
    result: Out<u32>,
) -> hsa_status_t {
    answer("hsa_executable_validate_alt", |runtime| {
        runtime.with_executable(executable, |_| result.set(VALID))
    })
}

/// Defines a variable for one GPU or all.
fn define(
    runtime: &Runtime,
    executable: hsa_executable_t,
    agent: Option<hsa_agent_t>,
    name: &Text,
    address: *mut c_void,
) -> Answer {
    if let Some(agent) = agent {
        runtime.gpu(agent)?;
    }
    let (name, address) = (name.read()?, address.expose_provenance() as u64);
    runtime.with_executable(executable, |executable| {
        executable.define(agent.map(|agent| agent.handle), name, address)
    })
}

pub extern "C" fn hsa_executable_global_variable_define(
    executable: hsa_executable_t,
    name: Text,
    address: *mut c_void,
) -> hsa_status_t {
    answer("hsa_executable_global_variable_define", |runtime| {
        define(runtime, executable, None, &name, address)
    })
}

pub extern "C" fn hsa_executable_agent_global_variable_define(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    name: Text,
    address: *mut c_void,
) -> hsa_status_t {
    answer("hsa_executable_agent_global_variable_define", |runtime| {
        define(runtime, executable, Some(agent), &name, address)
    })
}

pub extern "C" fn hsa_executable_readonly_variable_define(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    name: Text,
    address: *mut c_void,
) -> hsa_status_t {
    answer("hsa_executable_readonly_variable_define", |runtime| {
        define(runtime, executable, Some(agent), &name, address)
    })
}
