//! Mapped memory: pinned memory of the host that GPUs access.

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUdeviceptr, CUresult,
};

use super::context::Context;
use crate::device::{DeviceAddr, DeviceError, MappedMemory};

/// Allocates zeroed mapped memory: pinned, and known to the GPUs of all contexts.
pub(super) fn alloc(context: &Arc<Context>, bytes: usize) -> Result<MappedMemory, DeviceError> {
    let entered = context.enter()?;
    let mut host = null_mut();
    let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    // SAFETY: the function writes the address.
    let code = unsafe {
        context
            .cu()
            .cuMemHostAlloc(&raw mut host, bytes.max(1), flags)
    };
    if code == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        return Err(DeviceError::NoMappedMemory {
            device: context.name().to_owned(),
            bytes: bytes as u64,
        });
    }
    context.check("cuMemHostAlloc", code)?;
    let address = host as usize;
    let of = Arc::clone(context);
    let free = move || {
        let freed = of.enter().and_then(|_entered| {
            // SAFETY: allocated above; the owner's drop runs this once, after all uses of the
            // memory.
            let code = unsafe { of.cu().cuMemFreeHost(address as *mut _) };
            of.check("cuMemFreeHost", code)
        });
        match freed {
            Ok(()) | Err(DeviceError::Lost { .. }) => {}
            Err(error) => tracing::warn!(%error, "mapped memory was not freed"),
        }
    };
    let mut device: CUdeviceptr = 0;
    // SAFETY: the function writes the address; the memory is mapped.
    let code = unsafe {
        context
            .cu()
            .cuMemHostGetDevicePointer_v2(&raw mut device, host, 0)
    };
    let asked = context.check("cuMemHostGetDevicePointer", code);
    drop(entered);
    let Some(host) = NonNull::new(host.cast::<u8>()).filter(|_| asked.is_ok()) else {
        free();
        return Err(asked.err().unwrap_or_else(|| DeviceError::NoMappedMemory {
            device: context.name().to_owned(),
            bytes: bytes as u64,
        }));
    };
    // SAFETY: the allocation has that many bytes, and is not shared yet.
    unsafe { host.write_bytes(0, bytes) };
    Ok(MappedMemory::new(host, DeviceAddr(device), bytes, free))
}
