//! Agents: what there is, and what ROCr knows of each.

use std::ffi::{c_char, c_void};

use hsa_runtime_sys::{
    HSA_AGENT_INFO_DEVICE, HSA_DEVICE_TYPE_CPU, HSA_DEVICE_TYPE_GPU, HSA_ISA_INFO_NAME,
    HSA_ISA_INFO_NAME_LENGTH, HSA_STATUS_SUCCESS, hsa_agent_info_t, hsa_agent_t, hsa_isa_info_t,
    hsa_isa_t, hsa_status_t,
};

use super::runtime::{Failure, Runtime};

/// The agents of a machine.
#[derive(Default)]
pub(super) struct Agents {
    /// Its GPUs, as ROCr orders them.
    pub(super) gpus: Vec<hsa_agent_t>,
    /// Its processors.
    pub(super) cpus: Vec<hsa_agent_t>,
}

impl Agents {
    /// Those of this machine.
    pub(super) fn all(rocr: &Runtime) -> Result<Self, Failure> {
        let mut all: Vec<hsa_agent_t> = Vec::new();
        // SAFETY: the function calls `collect` with the vector while it runs.
        let asked = unsafe { rocr.hsa_iterate_agents(Some(collect), (&raw mut all).cast()) };
        Failure::check(rocr, "hsa_iterate_agents", asked)?;
        let mut agents = Self::default();
        for agent in all {
            // SAFETY: the kind of device is a number of this size.
            match unsafe { info(rocr, agent, HSA_AGENT_INFO_DEVICE, 0u32)? } {
                HSA_DEVICE_TYPE_GPU => agents.gpus.push(agent),
                HSA_DEVICE_TYPE_CPU => agents.cpus.push(agent),
                _ => {}
            }
        }
        Ok(agents)
    }
}

/// Adds what ROCr lists to a vector of such things.
pub(super) unsafe extern "C" fn collect<T: Copy>(item: T, list: *mut c_void) -> hsa_status_t {
    // SAFETY: whoever asks for the list passes a vector of its items, which is nobody else's
    // meanwhile.
    unsafe { (*list.cast::<Vec<T>>()).push(item) };
    HSA_STATUS_SUCCESS
}

/// What ROCr knows of an agent.
///
/// # Safety
/// `T` is the type of the value of `what`.
pub(super) unsafe fn info<T>(
    rocr: &Runtime,
    agent: hsa_agent_t,
    what: hsa_agent_info_t,
    mut value: T,
) -> Result<T, Failure> {
    // SAFETY: the function writes a value of that type.
    let asked = unsafe { rocr.hsa_agent_get_info(agent, what, (&raw mut value).cast()) };
    Failure::check(rocr, "hsa_agent_get_info", asked)?;
    Ok(value)
}

/// Code for which an agent runs, such as `amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`. Where
/// there are several, the first is the most special one.
pub(super) fn isa(rocr: &Runtime, agent: hsa_agent_t) -> Result<Option<String>, Failure> {
    let mut isas: Vec<hsa_isa_t> = Vec::new();
    // SAFETY: the function calls `collect` with the vector while it runs.
    let asked =
        unsafe { rocr.hsa_agent_iterate_isas(agent, Some(collect), (&raw mut isas).cast()) };
    Failure::check(rocr, "hsa_agent_iterate_isas", asked)?;
    let Some(&isa) = isas.first() else {
        return Ok(None);
    };
    let ask = |what: hsa_isa_info_t, to: *mut c_void| {
        // SAFETY: the caller's place has room for what is written.
        let asked = unsafe { rocr.hsa_isa_get_info_alt(isa, what, to) };
        Failure::check(rocr, "hsa_isa_get_info_alt", asked)
    };
    let mut len = 0u32;
    ask(HSA_ISA_INFO_NAME_LENGTH, (&raw mut len).cast())?;
    // One more, whether or not the length counts the 0 at the end.
    let mut name: Vec<c_char> = vec![0; len as usize + 1];
    ask(HSA_ISA_INFO_NAME, name.as_mut_ptr().cast())?;
    Ok(Some(text(&name)))
}

/// The text before the first 0.
pub(super) fn text(chars: &[c_char]) -> String {
    let bytes = chars.iter().map(|&byte| byte.cast_unsigned());
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
