//! Agents and their properties.

use std::ffi::{c_char, c_void};

use hsa_runtime_sys::{
    HSA_AGENT_INFO_DEVICE, HSA_AGENT_INFO_PROFILE, HSA_AGENT_INFO_QUEUE_MAX_SIZE,
    HSA_AGENT_INFO_WAVEFRONT_SIZE, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, HSA_AMD_AGENT_INFO_BDFID,
    HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, HSA_AMD_AGENT_INFO_DOMAIN,
    HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY, HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU,
    HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, HSA_DEVICE_TYPE_CPU, HSA_DEVICE_TYPE_GPU,
    HSA_ISA_INFO_NAME, HSA_ISA_INFO_NAME_LENGTH, HSA_STATUS_ERROR_INVALID_AGENT,
    HSA_STATUS_SUCCESS, hsa_agent_info_t, hsa_agent_t, hsa_isa_info_t, hsa_isa_t, hsa_status_t,
};

use super::runtime::{Runtime, check};
use crate::device::DriverFailure;

/// The agents of a machine.
#[derive(Default)]
pub(super) struct Agents {
    /// Its GPUs, in ROCr's order.
    pub(super) gpus: Vec<hsa_agent_t>,
    /// Its processors.
    pub(super) cpus: Vec<hsa_agent_t>,
}

impl Agents {
    /// The agents of this machine.
    pub(super) fn all(rocr: &Runtime) -> Result<Self, DriverFailure> {
        let mut all: Vec<hsa_agent_t> = Vec::new();
        // SAFETY: the function calls `collect` with the vector while it runs.
        let asked = unsafe { rocr.hsa_iterate_agents(Some(collect), (&raw mut all).cast()) };
        check(rocr, "hsa_iterate_agents", asked)?;
        let mut agents = Self::default();
        for agent in all {
            // SAFETY: the kind of device is a number of this size.
            match unsafe { info(rocr, agent, HSA_AGENT_INFO_DEVICE, 0u32) } {
                Ok(HSA_DEVICE_TYPE_GPU) => agents.gpus.push(agent),
                Ok(HSA_DEVICE_TYPE_CPU) => agents.cpus.push(agent),
                Ok(_) => {}
                // An emulated GPU, which another thread has removed meanwhile.
                Err(failure) if failure.code == HSA_STATUS_ERROR_INVALID_AGENT => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(agents)
    }
}

/// Adds an item of ROCr's list to a vector.
pub(super) unsafe extern "C" fn collect<T: Copy>(item: T, list: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller of ROCr's function passes a vector of this item type, which it does not
    // use meanwhile.
    unsafe { (*list.cast::<Vec<T>>()).push(item) };
    HSA_STATUS_SUCCESS
}

/// A property of an agent.
///
/// # Safety
/// `T` is the type of the value of `what`.
pub(super) unsafe fn info<T>(
    rocr: &Runtime,
    agent: hsa_agent_t,
    what: hsa_agent_info_t,
    mut value: T,
) -> Result<T, DriverFailure> {
    // SAFETY: the function writes a value of that type.
    let asked = unsafe { rocr.hsa_agent_get_info(agent, what, (&raw mut value).cast()) };
    check(rocr, "hsa_agent_get_info", asked)?;
    Ok(value)
}

/// A property of an agent that is a number of 32 bits: only those below.
#[derive(Clone, Copy)]
pub(super) struct Number(hsa_agent_info_t);

impl Number {
    pub(super) const COMPUTE_UNITS: Self = Self(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
    /// SIMDs of a compute unit.
    pub(super) const SIMDS: Self = Self(HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU);
    /// Maximum waves of a compute unit.
    pub(super) const MAX_WAVES: Self = Self(HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU);
    /// Threads of a wave.
    pub(super) const WAVE: Self = Self(HSA_AGENT_INFO_WAVEFRONT_SIZE);
    /// Maximum threads of a team.
    pub(super) const MAX_THREADS: Self = Self(HSA_AGENT_INFO_WORKGROUP_MAX_SIZE);
    /// Maximum packets of a queue.
    pub(super) const MAX_PACKETS: Self = Self(HSA_AGENT_INFO_QUEUE_MAX_SIZE);
    /// The highest clock, in MHz.
    pub(super) const CLOCK: Self = Self(HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY);
    /// The bus address: domain, and the rest.
    pub(super) const DOMAIN: Self = Self(HSA_AMD_AGENT_INFO_DOMAIN);
    pub(super) const BUS: Self = Self(HSA_AMD_AGENT_INFO_BDFID);
    /// `HSA_PROFILE_BASE` or `HSA_PROFILE_FULL`.
    pub(super) const PROFILE: Self = Self(HSA_AGENT_INFO_PROFILE);

    /// The property's value for an agent.
    pub(super) fn of(self, rocr: &Runtime, agent: hsa_agent_t) -> Result<u32, DriverFailure> {
        // SAFETY: the value of each of them is a number of 32 bits.
        unsafe { info(rocr, agent, self.0, 0u32) }
    }
}

/// The instruction set of an agent, such as `amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`. If there
/// are several, the first is the most specific one.
pub(super) fn isa(rocr: &Runtime, agent: hsa_agent_t) -> Result<Option<String>, DriverFailure> {
    let mut isas: Vec<hsa_isa_t> = Vec::new();
    // SAFETY: the function calls `collect` with the vector while it runs.
    let asked =
        unsafe { rocr.hsa_agent_iterate_isas(agent, Some(collect), (&raw mut isas).cast()) };
    check(rocr, "hsa_agent_iterate_isas", asked)?;
    let Some(&isa) = isas.first() else {
        return Ok(None);
    };
    let ask = |what: hsa_isa_info_t, to: *mut c_void| {
        // SAFETY: the caller's memory has room for the value.
        let asked = unsafe { rocr.hsa_isa_get_info_alt(isa, what, to) };
        check(rocr, "hsa_isa_get_info_alt", asked)
    };
    let mut len = 0u32;
    ask(HSA_ISA_INFO_NAME_LENGTH, (&raw mut len).cast())?;
    // One more byte, in case the length does not include the NUL.
    let mut name: Vec<c_char> = vec![0; len as usize + 1];
    ask(HSA_ISA_INFO_NAME, name.as_mut_ptr().cast())?;
    Ok(Some(text(&name)))
}

/// The text before the first NUL.
pub(super) fn text(chars: &[c_char]) -> String {
    let bytes = chars
        .iter()
        .map(|&byte| u8::from_ne_bytes(byte.to_ne_bytes()));
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
