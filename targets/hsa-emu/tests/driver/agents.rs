//! Agents, their instruction sets and caches, and the runtime itself.

use std::ffi::{CStr, c_char, c_void};

use hsa_emu::Arch;
use hsa_runtime_sys::*;

use crate::gpu::{Collect, Gpu, agents, collect, cpu, hsa, is, works};

/// A property of an agent, whose type is that of `value`.
fn info<T>(agent: hsa_agent_t, what: u32, mut value: T) -> T {
    works(hsa!(hsa_agent_get_info(
        agent => hsa_agent_t, what => u32, (&raw mut value).cast() => *mut c_void
    )));
    value
}

fn text(agent: hsa_agent_t, what: u32) -> String {
    let bytes = info(agent, what, [1u8; 64]);
    let text = CStr::from_bytes_until_nul(&bytes).expect("an end");
    text.to_str().expect("UTF-8").to_owned()
}

/// The name of an agent's instruction set.
fn isa(agent: hsa_agent_t) -> String {
    let mut isas: Vec<hsa_isa_t> = Vec::new();
    works(hsa!(hsa_agent_iterate_isas(
        agent => hsa_agent_t,
        collect => Collect<hsa_isa_t>,
        (&raw mut isas).cast() => *mut c_void,
    )));
    let mut len = 0u32;
    works(hsa!(hsa_isa_get_info_alt(
        isas[0] => hsa_isa_t,
        HSA_ISA_INFO_NAME_LENGTH => u32,
        (&raw mut len).cast() => *mut c_void,
    )));
    let mut name = vec![1u8; len as usize];
    works(hsa!(hsa_isa_get_info_alt(
        isas[0] => hsa_isa_t, HSA_ISA_INFO_NAME => u32, name.as_mut_ptr().cast() => *mut c_void
    )));
    let name = CStr::from_bytes_until_nul(&name).expect("an end");
    let mut found = hsa_isa_t { handle: 0 };
    works(hsa!(hsa_isa_from_name(
        name.as_ptr() => *const c_char, &raw mut found => *mut hsa_isa_t
    )));
    name.to_str().expect("UTF-8").to_owned()
}

#[test]
fn agents_are_what_they_say() {
    assert_eq!(
        info(cpu_after_start(), HSA_AGENT_INFO_DEVICE, 9u32),
        HSA_DEVICE_TYPE_CPU
    );
    for (arch, name, wave) in [
        (Arch::Gfx906, "gfx906:sramecc+:xnack-", 64),
        (Arch::Gfx90a, "gfx90a:sramecc+:xnack-", 64),
        (Arch::Gfx942, "gfx942:sramecc+:xnack-", 64),
        (Arch::Gfx1100, "gfx1100", 32),
        (Arch::Gfx1201, "gfx1201", 32),
    ] {
        let gpu = Gpu::with(arch, false);
        let agent = gpu.agent;
        assert!(agents().iter().any(|other| other.handle == agent.handle));
        assert_eq!(text(agent, HSA_AGENT_INFO_NAME), arch.name());
        assert_eq!(text(agent, HSA_AGENT_INFO_VENDOR_NAME), "AMD");
        let product = text(agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME);
        assert_eq!(product, format!("emulated {arch}"));
        assert_eq!(isa(agent), format!("amdgcn-amd-amdhsa--{name}"));
        let number = |what| info(agent, what, 0u32);
        assert_eq!(number(HSA_AGENT_INFO_DEVICE), HSA_DEVICE_TYPE_GPU);
        assert_eq!(number(HSA_AGENT_INFO_WAVEFRONT_SIZE), wave);
        assert_eq!(number(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), 2);
        let mut caches: Vec<hsa_cache_t> = Vec::new();
        works(hsa!(hsa_agent_iterate_caches(
            agent => hsa_agent_t,
            collect => Collect<hsa_cache_t>,
            (&raw mut caches).cast() => *mut c_void,
        )));
        assert!(caches.len() >= 2);
    }
}

fn cpu_after_start() -> hsa_agent_t {
    let _gpu = Gpu::new();
    cpu()
}

/// The sizes of the values of these properties, in bytes.
const PROPERTIES: std::ops::Range<u32> = 0..0xa200;

#[test]
fn every_property_of_every_agent_is_a_value_or_an_error() {
    let gpu = Gpu::new();
    let mut known = 0;
    for agent in [cpu(), gpu.agent] {
        for what in PROPERTIES {
            let mut value = [0u8; 256];
            let status = hsa!(hsa_agent_get_info(
                agent => hsa_agent_t,
                what => u32,
                value.as_mut_ptr().cast() => *mut c_void,
            ));
            known += u32::from(status == HSA_STATUS_SUCCESS);
            assert!(
                [HSA_STATUS_SUCCESS, HSA_STATUS_ERROR_INVALID_ARGUMENT].contains(&status),
                "{what:#x}: {status}"
            );
            let status = hsa!(hsa_agent_get_info(
                agent => hsa_agent_t,
                what => u32,
                std::ptr::null_mut() => *mut c_void,
            ));
            is(status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
    }
    assert!(known > 70, "{known}");
}

#[test]
fn statuses_have_names() {
    for (status, name) in [
        (HSA_STATUS_SUCCESS, "HSA_STATUS_SUCCESS"),
        (
            HSA_STATUS_ERROR_INVALID_SIGNAL,
            "HSA_STATUS_ERROR_INVALID_SIGNAL",
        ),
        (
            HSA_STATUS_ERROR_MEMORY_FAULT,
            "HSA_STATUS_ERROR_MEMORY_FAULT",
        ),
    ] {
        let mut text = std::ptr::null::<c_char>();
        works(hsa!(hsa_status_string(status => u32, &raw mut text => *mut *const c_char)));
        // SAFETY: the runtime's text, which stays.
        let text = unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8");
        assert!(text.starts_with(name), "{text}");
    }
    let mut text = std::ptr::null::<c_char>();
    is(
        hsa!(hsa_status_string(9 => u32, &raw mut text => *mut *const c_char)),
        HSA_STATUS_ERROR_INVALID_ARGUMENT,
    );
}

#[test]
fn the_loader_has_a_table() {
    let _gpu = Gpu::new();
    let mut table = [std::ptr::null::<c_void>(); 8];
    let get = |len: usize, table: &mut [*const c_void; 8]| {
        hsa!(hsa_system_get_major_extension_table(
            HSA_EXTENSION_AMD_LOADER as u16 => u16,
            1 => u16,
            len => usize,
            table.as_mut_ptr().cast() => *mut c_void,
        ))
    };
    works(get(size_of::<hsa_ven_amd_loader_1_03_pfn_t>(), &mut table));
    assert!(table[..7].iter().all(|function| !function.is_null()));
    assert!(table[7].is_null());
    let mut old = [std::ptr::null::<c_void>(); 8];
    works(get(size_of::<hsa_ven_amd_loader_1_00_pfn_t>(), &mut old));
    assert_eq!((&old[..3], old[3]), (&table[..3], std::ptr::null()));
}

#[test]
fn functions_that_are_not_supported_are_errors() {
    let _gpu = Gpu::new();
    is(hsa!(hsa_amd_ipc_memory_create()), HSA_STATUS_ERROR);
    assert!(hsa_emu::functions::function("hsa_nothing").is_none());
    assert!(hsa_emu::functions::names().count() > 240);
}
