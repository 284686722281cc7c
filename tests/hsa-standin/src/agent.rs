//! Agents: one processor, and the number of GPUs in the environment.

use std::ffi::c_void;

use emu_driver::process::setting;
use hsa_runtime_sys::*;

use crate::image::TARGET;
use crate::state::{Answer, State, answer};

/// The processor's handle; GPU `n` has the n-th after [`FIRST_GPU`].
pub(crate) const CPU: u64 = 0x0a9e_0001;
const FIRST_GPU: u64 = 0x0a9e_1000;

/// Maximum threads of a team.
pub(crate) const MAX_TEAM: u32 = 1024;

pub(crate) fn gpu_agent(number: usize) -> hsa_agent_t {
    hsa_agent_t {
        handle: FIRST_GPU + number as u64,
    }
}

impl State {
    /// The number of an agent's GPU.
    pub(crate) fn gpu(&self, agent: hsa_agent_t) -> Answer<usize> {
        let number = agent.handle.checked_sub(FIRST_GPU).map(|n| n as usize);
        number
            .filter(|&number| number < self.gpus.len())
            .ok_or(HSA_STATUS_ERROR_INVALID_AGENT)
    }
}

/// The maximum number of packets of a queue.
pub(crate) fn most_packets() -> u32 {
    setting("REVOFF_HSA_STAND_IN_PACKETS", 131_072) as u32
}

#[unsafe(no_mangle)]
extern "C" fn hsa_iterate_agents(
    callback: Option<unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> hsa_status_t>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_iterate_agents", |state| {
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let cpu = std::iter::once(hsa_agent_t { handle: CPU });
        for agent in cpu.chain((0..state.gpus.len()).map(gpu_agent)) {
            // SAFETY: the caller's function takes its data and an agent.
            let status = unsafe { callback(agent, data) };
            if status != HSA_STATUS_SUCCESS {
                return Err(status);
            }
        }
        Ok(())
    })
}

/// # Safety
/// `value` is valid for the property.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_agent_get_info(
    agent: hsa_agent_t,
    what: hsa_agent_info_t,
    value: *mut c_void,
) -> hsa_status_t {
    answer("hsa_agent_get_info", |state| {
        let number = state.gpu(agent).ok();
        if agent.handle != CPU && number.is_none() {
            return Err(HSA_STATUS_ERROR_INVALID_AGENT);
        }
        let text = match what {
            HSA_AMD_AGENT_INFO_PRODUCT_NAME => Some("stand-in for an AMD GPU"),
            HSA_AGENT_INFO_NAME => TARGET.split(':').next(),
            HSA_AGENT_INFO_VENDOR_NAME => Some("AMD"),
            _ => None,
        };
        if let Some(text) = text {
            // SAFETY: the caller's promise: 64 characters.
            unsafe {
                let to = value.cast::<u8>();
                to.copy_from_nonoverlapping(text.as_ptr(), text.len());
                to.add(text.len()).write(0);
            }
            return Ok(());
        }
        let cores = || std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let number = match (what, number) {
            (HSA_AGENT_INFO_DEVICE, None) => HSA_DEVICE_TYPE_CPU,
            (HSA_AGENT_INFO_DEVICE, Some(_)) => HSA_DEVICE_TYPE_GPU,
            (HSA_AGENT_INFO_FEATURE, number) => u32::from(number.is_some()),
            (_, None) => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            (HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, _) => MAX_TEAM,
            (HSA_AGENT_INFO_WAVEFRONT_SIZE, _) => 64,
            (HSA_AGENT_INFO_QUEUE_MAX_SIZE, _) => most_packets(),
            (HSA_AGENT_INFO_QUEUE_TYPE, _) => HSA_QUEUE_TYPE_MULTI,
            (HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, _) => cores(),
            (HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, _) => 32,
            (HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, _) => 4,
            (HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, _) => 1000,
            (HSA_AMD_AGENT_INFO_DOMAIN, _) => 0,
            (HSA_AMD_AGENT_INFO_BDFID, Some(number)) => (number as u32 + 1) << 8,
            _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
        };
        // SAFETY: the caller's promise: all of these are numbers of 32 bits.
        unsafe { value.cast::<u32>().write(number) };
        Ok(())
    })
}

/// The handle of the only instruction set.
const ISA: u64 = 0x15a;

#[unsafe(no_mangle)]
extern "C" fn hsa_agent_iterate_isas(
    agent: hsa_agent_t,
    callback: Option<unsafe extern "C" fn(hsa_isa_t, *mut c_void) -> hsa_status_t>,
    data: *mut c_void,
) -> hsa_status_t {
    answer("hsa_agent_iterate_isas", |state| {
        state.gpu(agent)?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller's function takes its data and an instruction set.
        match unsafe { callback(hsa_isa_t { handle: ISA }, data) } {
            HSA_STATUS_SUCCESS => Ok(()),
            status => Err(status),
        }
    })
}

/// # Safety
/// `value` is valid for the property.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_isa_get_info_alt(
    isa: hsa_isa_t,
    what: hsa_isa_info_t,
    value: *mut c_void,
) -> hsa_status_t {
    answer("hsa_isa_get_info_alt", |_| {
        let name = format!("amdgcn-amd-amdhsa--{TARGET}\0");
        if isa.handle != ISA {
            return Err(HSA_STATUS_ERROR_INVALID_ISA);
        }
        // SAFETY: the caller's promise: a length, or a buffer of that length.
        unsafe {
            match what {
                HSA_ISA_INFO_NAME_LENGTH => value.cast::<u32>().write(name.len() as u32),
                HSA_ISA_INFO_NAME => value
                    .cast::<u8>()
                    .copy_from_nonoverlapping(name.as_ptr(), name.len()),
                _ => return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
        Ok(())
    })
}
