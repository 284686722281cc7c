//! Instruction sets: one for each GPU, whose handle is that of its agent with another offset.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use gcn_emu::MAX_WORKGROUP;
use hsa_runtime_sys::*;
use targets::device_arch::AmdTarget;

use crate::gpu::{Gpu, agent_of};
use crate::pointers::{Out, Text};
use crate::runtime::{Runtime, answer};
use crate::spec::isa_name;
use crate::status::{Answer, Status, from_callback};

/// The handle of the first GPU's; that of the first GPU's wave.
const FIRST: u64 = 0x15a0_0000;
const FIRST_WAVEFRONT: u64 = 0x3a7e_0000;

/// The instruction set of a GPU.
pub(crate) fn handle(gpu: &Gpu) -> hsa_isa_t {
    hsa_isa_t {
        handle: FIRST + u64::from(gpu.number),
    }
}

fn gpu_of(runtime: &Runtime, handle: u64, first: u64) -> Option<Arc<Gpu>> {
    let number = u32::try_from(handle.checked_sub(first)?).ok()?;
    runtime.gpu(agent_of(number)).ok()
}

fn gpu(runtime: &Runtime, isa: hsa_isa_t) -> Answer<Arc<Gpu>> {
    gpu_of(runtime, isa.handle, FIRST).ok_or(Status::INVALID_ISA)
}

/// The target in the name of an instruction set.
fn target(name: &str) -> Option<AmdTarget> {
    name.strip_prefix("amdgcn-amd-amdhsa--")?.parse().ok()
}

pub extern "C" fn hsa_isa_from_name(name: Text, isa: Out<hsa_isa_t>) -> hsa_status_t {
    answer("hsa_isa_from_name", |runtime| {
        let target = target(name.read()?).ok_or(Status::INVALID_ISA_NAME)?;
        let gpus = runtime.gpus();
        let mut gpus = gpus.iter();
        let found = gpus.find(|gpu| target.runs_on(&gpu.target).is_some());
        isa.set(handle(found.ok_or(Status::INVALID_ISA_NAME)?))
    })
}

pub extern "C" fn hsa_agent_iterate_isas(
    agent: hsa_agent_t,
    callback: Option<unsafe extern "C" fn(hsa_isa_t, *mut c_void) -> hsa_status_t>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_agent_iterate_isas", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let Some(gpu) = runtime.agent(agent)? else {
            return Ok(());
        };
        // SAFETY: the program's function takes an instruction set and its data.
        from_callback(unsafe { callback(handle(&gpu), data) })
    })
}

pub extern "C" fn hsa_isa_get_info_alt(
    isa: hsa_isa_t,
    what: hsa_isa_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_isa_get_info_alt", |runtime| {
        info(&*gpu(runtime, isa)?, what, value)
    })
}

pub extern "C" fn hsa_isa_get_info(
    isa: hsa_isa_t,
    what: hsa_isa_info_t,
    index: u32,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_isa_get_info", |runtime| {
        let gpu = gpu(runtime, isa)?;
        if index != 0 {
            return Err(Status::INVALID_INDEX);
        }
        info(&gpu, what, value)
    })
}

fn info(gpu: &Gpu, what: hsa_isa_info_t, value: Out<c_void>) -> Answer {
    let name = isa_name(&gpu.target);
    // The length includes the terminating zero.
    let len = name.len() + 1;
    match what {
        HSA_ISA_INFO_NAME_LENGTH => value.of::<u32>().set(len as u32),
        HSA_ISA_INFO_NAME => value.of::<c_char>().set_text(&name, len as i32),
        HSA_ISA_INFO_CALL_CONVENTION_COUNT => value.of::<u32>().set(1),
        HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE => value.of::<u32>().set(gpu.spec.wave),
        HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT => {
            value.of::<u32>().set(gpu.spec.waves)
        }
        HSA_ISA_INFO_MACHINE_MODELS => value.of::<[bool; 2]>().set([false, true]),
        HSA_ISA_INFO_PROFILES => value.of::<[bool; 2]>().set([true, true]),
        HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES
        | HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
            value.of::<[bool; 3]>().set([false, false, true])
        }
        HSA_ISA_INFO_FAST_F16_OPERATION => value.of::<bool>().set(true),
        HSA_ISA_INFO_WORKGROUP_MAX_DIM => value.of::<[u16; 3]>().set([MAX_WORKGROUP as u16; 3]),
        HSA_ISA_INFO_WORKGROUP_MAX_SIZE => value.of::<u32>().set(MAX_WORKGROUP),
        HSA_ISA_INFO_GRID_MAX_DIM => value.of::<[u32; 3]>().set([i32::MAX.cast_unsigned(); 3]),
        HSA_ISA_INFO_GRID_MAX_SIZE => value.of::<u64>().set(u32::MAX.into()),
        HSA_ISA_INFO_FBARRIER_MAX_SIZE => value.of::<u32>().set(32),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

pub extern "C" fn hsa_isa_get_exception_policies(
    isa: hsa_isa_t,
    _profile: hsa_profile_t,
    mask: Out<u16>,
) -> hsa_status_t {
    answer("hsa_isa_get_exception_policies", |runtime| {
        gpu(runtime, isa)?;
        mask.set(0)
    })
}

pub extern "C" fn hsa_isa_get_round_method(
    isa: hsa_isa_t,
    kind: hsa_fp_type_t,
    _flush: hsa_flush_mode_t,
    method: Out<hsa_round_method_t>,
) -> hsa_status_t {
    answer("hsa_isa_get_round_method", |runtime| {
        gpu(runtime, isa)?;
        match kind {
            HSA_FP_TYPE_16 | HSA_FP_TYPE_32 | HSA_FP_TYPE_64 => method.set(HSA_ROUND_METHOD_SINGLE),
            _ => Err(Status::INVALID_ARGUMENT),
        }
    })
}

pub extern "C" fn hsa_isa_iterate_wavefronts(
    isa: hsa_isa_t,
    callback: Option<unsafe extern "C" fn(hsa_wavefront_t, *mut c_void) -> hsa_status_t>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_isa_iterate_wavefronts", |runtime| {
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let handle = FIRST_WAVEFRONT + u64::from(gpu(runtime, isa)?.number);
        // SAFETY: the program's function takes a wavefront and its data.
        from_callback(unsafe { callback(hsa_wavefront_t { handle }, data) })
    })
}

pub extern "C" fn hsa_wavefront_get_info(
    wavefront: hsa_wavefront_t,
    what: hsa_wavefront_info_t,
    value: Out<c_void>,
) -> hsa_status_t {
    answer("hsa_wavefront_get_info", |runtime| {
        let gpu = gpu_of(runtime, wavefront.handle, FIRST_WAVEFRONT);
        let gpu = gpu.ok_or(Status::INVALID_WAVEFRONT)?;
        match what {
            HSA_WAVEFRONT_INFO_SIZE => value.of::<u32>().set(gpu.spec.wave),
            _ => Err(Status::INVALID_ARGUMENT),
        }
    })
}

pub extern "C" fn hsa_isa_compatible(
    code: hsa_isa_t,
    agent: hsa_isa_t,
    is_compatible: Out<bool>,
) -> hsa_status_t {
    answer("hsa_isa_compatible", |runtime| {
        let (code, agent) = (gpu(runtime, code)?, gpu(runtime, agent)?);
        is_compatible.set(code.target.runs_on(&agent.target).is_some())
    })
}
