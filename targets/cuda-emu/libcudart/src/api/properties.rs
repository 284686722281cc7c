//! The properties of a device in one structure.

use cudarc::driver::sys::CUdevice_attribute as A;

use crate::driver::Driver;
use crate::error::CudaResult;

/// A `cudaDeviceProp` of CUDA 12. Names in it are shorter than NVIDIA's; the order is NVIDIA's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Properties {
    name: [u8; 256],
    uuid: [u8; 16],
    luid: [u8; 8],
    luid_mask: u32,
    memory: usize,
    shared_of_block: usize,
    registers_of_block: i32,
    warp: i32,
    pitch: usize,
    threads_of_block: i32,
    block: [i32; 3],
    grid: [i32; 3],
    clock: i32,
    constants: usize,
    capability: [i32; 2],
    texture_alignment: usize,
    texture_pitch_alignment: usize,
    overlap: i32,
    processors: i32,
    has_timeout: i32,
    integrated: i32,
    maps_host_memory: i32,
    compute_mode: i32,
    /// Limits of textures and surfaces, of which there are none.
    textures: [i32; 40],
    surface_alignment: usize,
    concurrent_kernels: i32,
    ecc: i32,
    /// Bus, device, domain.
    pci: [i32; 3],
    tcc: i32,
    copy_engines: i32,
    unified_addressing: i32,
    memory_clock: i32,
    bus_width: i32,
    l2: i32,
    persisting_l2: i32,
    threads_of_processor: i32,
    stream_priorities: i32,
    global_l1: i32,
    local_l1: i32,
    shared_of_processor: usize,
    registers_of_processor: i32,
    managed_memory: i32,
    /// Whether the GPU shares its board with others, and the board's number.
    board: [i32; 2],
    host_atomics: i32,
    double_ratio: i32,
    pageable_access: i32,
    concurrent_managed_access: i32,
    preemption: i32,
    registered_pointers: i32,
    cooperative_launch: i32,
    cooperative_devices: i32,
    shared_of_block_opt_in: usize,
    host_page_tables: i32,
    managed_from_host: i32,
    blocks_of_processor: i32,
    access_policy_window: i32,
    reserved_shared: usize,
    host_register: i32,
    sparse_arrays: i32,
    host_register_read_only: i32,
    timeline_semaphores: i32,
    memory_pools: i32,
    /// Remote access, interprocess handles, clusters, ..: not here.
    others: [i32; 8],
    reserved: [i32; 63],
}

/// Asks the driver for everything.
pub(crate) fn properties(driver: &Driver, device: i32) -> CudaResult<Properties> {
    let get = |attribute: A| {
        let mut value = 0;
        driver.cuDeviceGetAttribute(&raw mut value, attribute as u32, device)?;
        Ok(value)
    };
    let bytes = |attribute| Ok(get(attribute)? as usize);
    let (mut name, mut uuid, mut memory) = ([0; 256], [0; 16], 0);
    driver.cuDeviceGetName((&raw mut name).cast(), name.len() as i32, device)?;
    driver.cuDeviceGetUuid_v2(&raw mut uuid, device)?;
    driver.cuDeviceTotalMem_v2(&raw mut memory, device)?;
    Ok(Properties {
        name,
        uuid,
        luid: [0; 8],
        luid_mask: 0,
        memory,
        shared_of_block: bytes(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        registers_of_block: get(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
        warp: get(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        pitch: bytes(A::CU_DEVICE_ATTRIBUTE_MAX_PITCH)?,
        threads_of_block: get(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        block: [
            get(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            get(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            get(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        grid: [
            get(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            get(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            get(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        clock: get(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        constants: bytes(A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)?,
        capability: [
            get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ],
        texture_alignment: bytes(A::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)?,
        texture_pitch_alignment: bytes(A::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT)?,
        overlap: get(A::CU_DEVICE_ATTRIBUTE_GPU_OVERLAP)?,
        processors: get(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        has_timeout: get(A::CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT)?,
        integrated: get(A::CU_DEVICE_ATTRIBUTE_INTEGRATED)?,
        maps_host_memory: get(A::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY)?,
        compute_mode: get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)?,
        textures: [0; 40],
        surface_alignment: bytes(A::CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT)?,
        concurrent_kernels: get(A::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS)?,
        ecc: get(A::CU_DEVICE_ATTRIBUTE_ECC_ENABLED)?,
        pci: [
            get(A::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
            get(A::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
            get(A::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
        ],
        tcc: get(A::CU_DEVICE_ATTRIBUTE_TCC_DRIVER)?,
        copy_engines: get(A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT)?,
        unified_addressing: get(A::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)?,
        memory_clock: get(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        bus_width: get(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
        l2: get(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        persisting_l2: get(A::CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE)?,
        threads_of_processor: get(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        stream_priorities: get(A::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED)?,
        global_l1: get(A::CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED)?,
        local_l1: get(A::CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED)?,
        shared_of_processor: bytes(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        registers_of_processor: get(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        managed_memory: get(A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)?,
        board: [0; 2],
        host_atomics: get(A::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED)?,
        double_ratio: get(A::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)?,
        pageable_access: get(A::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)?,
        concurrent_managed_access: get(A::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)?,
        preemption: get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED)?,
        registered_pointers: get(A::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)?,
        cooperative_launch: get(A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)?,
        cooperative_devices: 0,
        shared_of_block_opt_in: bytes(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        host_page_tables: get(A::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)?,
        managed_from_host: get(A::CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST)?,
        blocks_of_processor: get(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        access_policy_window: get(A::CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE)?,
        reserved_shared: bytes(A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
        host_register: get(A::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED)?,
        sparse_arrays: 0,
        host_register_read_only: get(A::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED)?,
        timeline_semaphores: 0,
        memory_pools: get(A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)?,
        others: [0; 8],
        reserved: [0; 63],
    })
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// Sizes and places that the compiler has for NVIDIA's structure.
    #[test]
    fn the_structure_is_that_of_cuda_12() {
        assert_eq!(size_of::<Properties>(), 1032);
        assert_eq!(offset_of!(Properties, memory), 288);
        assert_eq!(offset_of!(Properties, clock), 348);
        assert_eq!(offset_of!(Properties, surface_alignment), 568);
        assert_eq!(offset_of!(Properties, shared_of_block_opt_in), 696);
        assert_eq!(offset_of!(Properties, memory_pools), 744);
        assert_eq!(offset_of!(Properties, reserved), 780);
    }
}
