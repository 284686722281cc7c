//! Devices and their attributes.

use std::ffi::c_char;
use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute as A, CUuuid};

use crate::code::{Answer, Code};
use crate::driver::{with_context, with_driver};
use crate::pointers::{Out, Text};
use crate::settings::settings;
use crate::state::gpu::Gpu;

/// Threads of a multiprocessor, as on hardware.
pub(crate) const THREADS_OF_PROCESSOR: u32 = 2048;

/// Bytes of shared memory that a block may have without asking for more.
pub(crate) const SHARED_OF_BLOCK: u64 = 48 << 10;

pub extern "C" fn cuDeviceGetCount(count: Out<i32>) -> u32 {
    with_driver("cuDeviceGetCount", |driver| {
        count.set(driver.gpu_count() as i32)
    })
}

pub extern "C" fn cuDeviceGet(device: Out<i32>, ordinal: i32) -> u32 {
    with_driver("cuDeviceGet", |driver| {
        driver.gpu(ordinal)?;
        device.set(ordinal)
    })
}

pub extern "C" fn cuDeviceGetName(name: Out<c_char>, room: i32, device: i32) -> u32 {
    with_driver("cuDeviceGetName", |driver| {
        name.set_text(&driver.gpu(device)?.name(), room)
    })
}

/// The address of a GPU on a bus that does not exist.
fn bus_id(device: i32) -> String {
    format!("0000:{:02x}:00.0", device + 1)
}

pub extern "C" fn cuDeviceGetPCIBusId(id: Out<c_char>, room: i32, device: i32) -> u32 {
    with_driver("cuDeviceGetPCIBusId", |driver| {
        driver.gpu(device)?;
        id.set_text(&bus_id(device), room)
    })
}

pub extern "C" fn cuDeviceGetByPCIBusId(device: Out<i32>, id: Text) -> u32 {
    with_driver("cuDeviceGetByPCIBusId", |driver| {
        let id = id.read()?.to_ascii_lowercase();
        let mut all = 0..driver.gpu_count() as i32;
        // The domain may be missing.
        let is_it = |number: &i32| {
            let whole = bus_id(*number);
            whole == id || whole.split_once(':').is_some_and(|(_, rest)| rest == id)
        };
        device.set(all.find(is_it).ok_or(Code::INVALID_DEVICE)?)
    })
}

pub extern "C" fn cuDeviceGetUuid_v2(uuid: Out<CUuuid>, device: i32) -> u32 {
    with_driver("cuDeviceGetUuid_v2", |driver| {
        driver.gpu(device)?;
        let mut bytes = *b"emulated GPU   \0";
        bytes[15] = device as u8;
        uuid.set(CUuuid {
            bytes: bytes.map(|byte| byte as c_char),
        })
    })
}

pub extern "C" fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) -> u32 {
    with_driver("cuDeviceTotalMem_v2", |driver| {
        bytes.set(driver.gpu(device)?.machine.memory().total() as usize)
    })
}

pub extern "C" fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) -> u32 {
    with_driver("cuDeviceComputeCapability", |driver| {
        let of = driver.gpu(device)?.capability();
        major.set(of.0 as i32)?;
        minor.set(of.1 as i32)
    })
}

pub extern "C" fn cuDeviceGetAttribute(value: Out<i32>, attribute: u32, device: i32) -> u32 {
    with_driver("cuDeviceGetAttribute", |driver| {
        let gpu = driver.gpu(device)?;
        let found = value_of(&gpu, attribute)?;
        value.set(found.min(i32::MAX as u64) as i32)
    })
}

/// The value of an attribute. Limits are those of the CUDA C++ programming guide, table "Technical
/// Specifications per Compute Capability"; what the emulator lacks is 0.
fn value_of(gpu: &Gpu, attribute: u32) -> Answer<u64> {
    let options = gpu.machine.options();
    let [grid_x, grid_y, grid_z] = ptx_emu::MAX_BLOCKS.map(u64::from);
    let threads = u64::from(ptx_emu::MAX_THREADS);
    let (major, minor) = gpu.capability();
    let values = [
        (A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, threads),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, threads),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, threads),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64),
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, grid_x),
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, grid_y),
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, grid_z),
        (
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
            SHARED_OF_BLOCK,
        ),
        (
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            ptx_emu::MAX_SHARED,
        ),
        (
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            ptx_emu::MAX_SHARED + 1024,
        ),
        (
            A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
            1024,
        ),
        (A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10),
        (A::CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32),
        (A::CU_DEVICE_ATTRIBUTE_MAX_PITCH, i32::MAX as u64),
        (A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 64 << 10),
        (
            A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
            64 << 10,
        ),
        // The clock counts nanoseconds.
        (A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1_000_000),
        (A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1_000_000),
        (A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64),
        (A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20),
        (A::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512),
        (A::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32),
        (A::CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512),
        (A::CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1),
        (
            A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            options.processors.into(),
        ),
        (
            A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            THREADS_OF_PROCESSOR.into(),
        ),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32),
        (A::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1),
        (A::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1),
        (A::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, gpu.number as u64 + 1),
        (A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2),
        (
            A::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING,
            settings().unified.into(),
        ),
        (
            A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            major.into(),
        ),
        (
            A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            minor.into(),
        ),
        (A::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1),
        (A::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1),
        (
            A::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO,
            2,
        ),
        (A::CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1),
        (
            A::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
            1,
        ),
        (A::CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1),
        (A::CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1),
        (A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1),
        (A::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1),
        (A::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1),
        (
            A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
            settings().pools.into(),
        ),
    ];
    let known = values.iter().find(|(known, _)| *known as u32 == attribute);
    let is_any = (1..A::CU_DEVICE_ATTRIBUTE_MAX as u32).contains(&attribute);
    let known = known.map(|&(_, value)| value);
    known
        .or_else(|| is_any.then_some(0))
        .ok_or(Code::INVALID_VALUE)
}

pub extern "C" fn cuDeviceGetExecAffinitySupport(
    supported: Out<i32>,
    _kind: u32,
    device: i32,
) -> u32 {
    with_driver("cuDeviceGetExecAffinitySupport", |driver| {
        driver.gpu(device)?;
        supported.set(0)
    })
}

/// No GPU reaches the memory of another.
pub extern "C" fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) -> u32 {
    with_driver("cuDeviceCanAccessPeer", |driver| {
        let (gpu, peer) = (driver.gpu(device)?, driver.gpu(peer)?);
        if Arc::ptr_eq(&gpu, &peer) {
            return Err(Code::INVALID_DEVICE);
        }
        can.set(0)
    })
}

pub extern "C" fn cuDeviceGetP2PAttribute(
    value: Out<i32>,
    _which: u32,
    device: i32,
    peer: i32,
) -> u32 {
    with_driver("cuDeviceGetP2PAttribute", |driver| {
        let (gpu, peer) = (driver.gpu(device)?, driver.gpu(peer)?);
        if Arc::ptr_eq(&gpu, &peer) {
            return Err(Code::INVALID_DEVICE);
        }
        value.set(0)
    })
}

pub extern "C" fn cuCtxEnablePeerAccess(_context: u64, _flags: u32) -> u32 {
    with_context("cuCtxEnablePeerAccess", |_| {
        Err(Code::PEER_ACCESS_UNSUPPORTED)
    })
}

pub extern "C" fn cuCtxDisablePeerAccess(_context: u64) -> u32 {
    with_context("cuCtxDisablePeerAccess", |_| {
        Err(Code::PEER_ACCESS_NOT_ENABLED)
    })
}
