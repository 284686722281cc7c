//! Properties of devices.

use std::ffi::c_char;

use cudarc::driver::sys::CUdevice_attribute as A;
use emu_driver::process::setting;

use crate::code::{Answer, Code};
use crate::driver::with_driver;
use crate::pointers::Out;

/// Maximum blocks of a launch and threads of a block, as on hardware.
pub(crate) const MAX_GRID: u32 = i32::MAX as u32;
pub(crate) const MAX_BLOCK: u32 = 1024;

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetCount(count: Out<i32>) -> u32 {
    with_driver("cuDeviceGetCount", |driver| {
        count.set(driver.gpus.len() as i32)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGet(device: Out<i32>, ordinal: i32) -> u32 {
    with_driver("cuDeviceGet", |driver| {
        driver.gpu(ordinal)?;
        device.set(ordinal)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetName(name: Out<c_char>, room: i32, device: i32) -> u32 {
    with_driver("cuDeviceGetName", |driver| {
        driver.gpu(device)?;
        name.set_text("stand-in for an NVIDIA GPU", room)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetPCIBusId(id: Out<c_char>, room: i32, device: i32) -> u32 {
    with_driver("cuDeviceGetPCIBusId", |driver| {
        driver.gpu(device)?;
        id.set_text(&format!("0000:{:02x}:00.0", device + 1), room)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) -> u32 {
    with_driver("cuDeviceTotalMem_v2", |driver| {
        driver.gpu(device)?;
        let env = host_rt::env::Env::read().map_err(|_| Code::UNKNOWN)?;
        bytes.set(env.host_memory.unwrap_or(16 << 30) as usize)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetAttribute(value: Out<i32>, attribute: u32, device: i32) -> u32 {
    with_driver("cuDeviceGetAttribute", |driver| {
        driver.gpu(device)?;
        value.set(value_of(attribute)? as i32)
    })
}

fn value_of(attribute: u32) -> Answer<u64> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let values: [(A, &dyn Fn() -> u64); 12] = [
        (A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &|| {
            u64::from(MAX_BLOCK)
        }),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &|| {
            u64::from(MAX_BLOCK)
        }),
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &|| {
            u64::from(MAX_GRID)
        }),
        (A::CU_DEVICE_ATTRIBUTE_WARP_SIZE, &|| 32),
        (A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &cores),
        (A::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, &|| 1),
        (A::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, &|| 1),
        (A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, &|| 2),
        (A::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, &|| {
            setting("REVOFF_STAND_IN_UNIFIED", 1)
        }),
        (A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &|| 9),
        (A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &|| 0),
        (A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &|| {
            setting("REVOFF_STAND_IN_POOLS", 1)
        }),
    ];
    let known = values.iter().find(|(known, _)| *known as u32 == attribute);
    known.map(|(_, value)| value()).ok_or(Code::INVALID_VALUE)
}
