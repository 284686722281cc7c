//! Memory: what it contains, who may use it, and what is known of it.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use hsa_emu::Arch;
use hsa_runtime_sys::*;

use crate::gpu::{
    COARSE, FINE, Gpu, KERNARG, alloc, cpu, free, hsa, is, pool_of, pools, read, works,
};

/// The runtime's information about an address, and the agents that may use it.
fn known(address: *const c_void) -> (hsa_amd_pointer_info_t, Vec<u64>) {
    // SAFETY: a struct of numbers, pointers and handles, for which zeros are valid.
    let mut info: hsa_amd_pointer_info_t = unsafe { std::mem::zeroed() };
    info.size = size_of::<hsa_amd_pointer_info_t>() as u32;
    let (mut count, mut agents) = (0u32, null_mut::<hsa_agent_t>());
    works(hsa!(hsa_amd_pointer_info(
        address => *const c_void,
        &raw mut info => *mut hsa_amd_pointer_info_t,
        None => Option<unsafe extern "C" fn(usize) -> *mut c_void>,
        &raw mut count => *mut u32,
        &raw mut agents => *mut *mut hsa_agent_t,
    )));
    let mut handles = Vec::new();
    for at in 0..count as usize {
        // SAFETY: the list has that many.
        handles.push(unsafe { agents.add(at).read() }.handle);
    }
    // SAFETY: without a function of the program's, C's allocates the list.
    unsafe { libc::free(agents.cast()) };
    (info, handles)
}

#[test]
fn memory_is_what_its_pool_says() {
    let gpu = Gpu::new();
    let owner = gpu.agent.handle;
    let (there, here) = (gpu.alloc(100), gpu.alloc_shared(5000));
    for memory in [there, here] {
        assert!(memory.addr().is_multiple_of(4096), "{memory:?}");
        assert_ne!(read(memory), 0, "it is not zeroed");
    }
    // Linux maps nothing there by itself: the host cannot use it.
    assert_eq!(there.addr() >> 45, 1, "{there:?}");
    let (info, agents) = known(there.wrapping_byte_add(99));
    assert_eq!(info.type_, HSA_EXT_POINTER_TYPE_HSA);
    assert_eq!(
        (info.agentBaseAddress, info.hostBaseAddress),
        (there, null_mut())
    );
    assert_eq!((info.sizeInBytes, info.agentOwner.handle), (100, owner));
    assert_eq!((info.global_flags, agents), (COARSE, vec![owner]));
    let (info, agents) = known(here);
    assert_eq!((info.agentBaseAddress, info.hostBaseAddress), (here, here));
    assert_eq!(info.agentOwner.handle, cpu().handle);
    assert_eq!(
        (info.global_flags, agents),
        (FINE, vec![cpu().handle, owner])
    );
    for unknown in [
        there.wrapping_byte_add(100),
        null_mut::<c_void>().wrapping_byte_add(64),
    ] {
        assert_eq!(
            known(unknown).0.type_,
            HSA_EXT_POINTER_TYPE_UNKNOWN,
            "{unknown:?}"
        );
    }
    works(hsa!(hsa_amd_pointer_info_set_userdata(
        here => *const c_void, there => *mut c_void
    )));
    assert_eq!(known(here).0.userData, there);
    for memory in [there, here] {
        works(free(memory));
        is(free(memory), HSA_STATUS_ERROR_INVALID_ALLOCATION);
        assert_eq!(known(memory).0.type_, HSA_EXT_POINTER_TYPE_UNKNOWN);
    }
    is(
        free(here.wrapping_byte_add(4)),
        HSA_STATUS_ERROR_INVALID_ALLOCATION,
    );
}

#[test]
fn pools_of_agents_have_their_properties() {
    let (gpu, other) = (Gpu::new(), Gpu::with(Arch::Gfx1100, false));
    let access = |agent: hsa_agent_t, pool: hsa_amd_memory_pool_t| {
        let mut access = 9u32;
        works(hsa!(hsa_amd_agent_memory_pool_get_info(
            agent => hsa_agent_t,
            pool => hsa_amd_memory_pool_t,
            HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS => u32,
            (&raw mut access).cast() => *mut c_void,
        )));
        access
    };
    let own = pool_of(gpu.agent, COARSE);
    assert_eq!(
        access(gpu.agent, own),
        HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT
    );
    assert_eq!(
        access(other.agent, own),
        HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT
    );
    assert_eq!(access(cpu(), own), HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED);
    for flag in [FINE, KERNARG, COARSE] {
        let pool = pool_of(cpu(), flag);
        assert_eq!(
            access(gpu.agent, pool),
            HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT
        );
        assert_eq!(
            access(cpu(), pool),
            HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT
        );
    }
    let mut bytes = 0usize;
    works(hsa!(hsa_amd_memory_pool_get_info(
        own => hsa_amd_memory_pool_t,
        HSA_AMD_MEMORY_POOL_INFO_SIZE => u32,
        (&raw mut bytes).cast() => *mut c_void,
    )));
    assert_eq!(bytes, 64 << 20);
    let mut memory = null_mut();
    for (pool, bytes, expected) in [
        (own, 65 << 20, HSA_STATUS_ERROR_OUT_OF_RESOURCES),
        (own, 0, HSA_STATUS_ERROR_INVALID_ARGUMENT),
        (own, usize::MAX, HSA_STATUS_ERROR_INVALID_ALLOCATION),
        (pools(gpu.agent)[1], 64, HSA_STATUS_ERROR_INVALID_ALLOCATION),
        (
            hsa_amd_memory_pool_t { handle: 3 },
            64,
            HSA_STATUS_ERROR_INVALID_MEMORY_POOL,
        ),
    ] {
        let status = hsa!(hsa_amd_memory_pool_allocate(
            pool => hsa_amd_memory_pool_t,
            bytes => usize,
            0 => u32,
            &raw mut memory => *mut *mut c_void,
        ));
        is(status, expected);
    }
}

#[test]
fn host_memory_may_be_locked() {
    let gpu = Gpu::new();
    let mut words = vec![0u64; 100];
    let (start, bytes) = (words.as_mut_ptr().cast::<c_void>(), 800usize);
    let mut address = null_mut();
    works(hsa!(hsa_amd_memory_lock(
        start => *mut c_void,
        bytes => usize,
        &raw const gpu.agent => *const hsa_agent_t,
        1 => i32,
        &raw mut address => *mut *mut c_void,
    )));
    assert_eq!(address, start);
    let (info, agents) = known(start.wrapping_byte_add(8));
    assert_eq!(info.type_, HSA_EXT_POINTER_TYPE_LOCKED);
    assert_eq!((info.agentBaseAddress, info.sizeInBytes), (start, bytes));
    assert_eq!(agents, [cpu().handle, gpu.agent.handle]);
    works(hsa!(hsa_amd_memory_unlock(start => *mut c_void)));
    assert_eq!(known(start).0.type_, HSA_EXT_POINTER_TYPE_UNKNOWN);
    is(
        hsa!(hsa_amd_memory_unlock(start => *mut c_void)),
        HSA_STATUS_ERROR_INVALID_ARGUMENT,
    );
    // Memory of a pool is the runtime's own.
    let ours = gpu.alloc_shared(64);
    let status = hsa!(hsa_amd_memory_lock(
        ours => *mut c_void,
        64usize => usize,
        null() => *const hsa_agent_t,
        0 => i32,
        &raw mut address => *mut *mut c_void,
    ));
    is(status, HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

#[test]
fn copies_of_the_host_need_memory_on_both_sides() {
    let gpu = Gpu::new();
    let (there, here) = (gpu.alloc(16), alloc(pool_of(cpu(), COARSE), 16));
    let mut words = [1u64, 2, 3];
    let own = words.as_mut_ptr().cast::<c_void>();
    let copy = |to: *mut c_void, from: *mut c_void, bytes: usize| hsa!(hsa_memory_copy(to => *mut c_void, from => *const c_void, bytes => usize));
    works(copy(there, own, 16));
    works(copy(here, there, 16));
    works(copy(own.wrapping_byte_add(8), here, 16));
    // SAFETY: three words, as above.
    assert_eq!(unsafe { own.cast::<[u64; 3]>().read() }, [1, 1, 2]);
    let refused = HSA_STATUS_ERROR_INVALID_ARGUMENT;
    is(copy(there, own, 17), refused);
    is(copy(own, there.wrapping_byte_add(8), 9), refused);
    is(copy(own, own, 8), refused);
    is(copy(null_mut(), there, 8), refused);
    works(free(there));
    is(copy(own, there, 8), refused);
    works(hsa!(hsa_amd_memory_fill(here => *mut c_void, 0xabcd => u32, 3usize => usize)));
    assert_eq!(read(here), 0xabcd_0000_abcd);
    is(
        hsa!(hsa_amd_memory_fill(here => *mut c_void, 1 => u32, 5usize => usize)),
        refused,
    );
}

#[test]
fn regions_are_pools() {
    let gpu = Gpu::new();
    let mut regions: Vec<hsa_region_t> = Vec::new();
    works(hsa!(hsa_agent_iterate_regions(
        gpu.agent => hsa_agent_t,
        crate::gpu::collect => crate::gpu::Collect<hsa_region_t>,
        (&raw mut regions).cast() => *mut c_void,
    )));
    let flags = |region: hsa_region_t| {
        let mut flags = 0u32;
        works(hsa!(hsa_region_get_info(
            region => hsa_region_t,
            HSA_REGION_INFO_GLOBAL_FLAGS => u32,
            (&raw mut flags).cast() => *mut c_void,
        )));
        flags
    };
    let mut kernarg = regions
        .iter()
        .filter(|&&region| flags(region) & KERNARG != 0);
    let kernarg = *kernarg.next().expect("a region for arguments");
    let mut memory = null_mut();
    works(hsa!(hsa_memory_allocate(
        kernarg => hsa_region_t, 64usize => usize, &raw mut memory => *mut *mut c_void
    )));
    assert!(known(memory).1.contains(&gpu.agent.handle));
    works(hsa!(hsa_memory_free(memory => *mut c_void)));
}
