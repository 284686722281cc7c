//! Device memory and mapped memory.

use std::collections::BTreeMap;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUdevice_attribute, CUdeviceptr, CUresult,
};

use super::context::Context;
use super::functions;
use super::lock;
use super::queue::CudaQueue;
use super::stream::Stream;
use crate::device::bounds::is_allocated;
use crate::device::{DeviceAddr, DeviceError, Fill, MappedMemory, MemoryInfo, Queue};

/// The driver rounds allocations up to a multiple of this.
const GRAIN: u64 = 512;

/// A GPU's memory.
///
/// A host function may allocate and free while its kernel waits for it, so nothing here may wait
/// for kernels. `cuMemFree` does, but frees ordered by a stream do not.
pub(super) struct Memory {
    context: Arc<Context>,
    /// Its stream orders frees, and allocations that are waited for.
    queue: Mutex<CudaQueue>,
    /// The queue's staging memory, which it does not use.
    zeros: Arc<MappedMemory>,
    /// Sizes by address.
    allocated: Mutex<BTreeMap<u64, u64>>,
    /// Whether the driver supports allocations ordered by streams.
    by_stream: bool,
}

impl Memory {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        use CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED as POOLS;
        let queue = CudaQueue::new(Stream::new(context)?);
        Ok(Self {
            zeros: Arc::clone(queue.staging()),
            queue: Mutex::new(queue),
            allocated: Mutex::default(),
            by_stream: context.attribute(POOLS) != 0,
            context: Arc::clone(context),
        })
    }

    /// The GPU's memory in total, and the used part.
    pub(super) fn info(&self) -> MemoryInfo {
        // Freed memory becomes available once the stream has reached the free.
        if let Err(error) = lock(&self.queue).synchronize() {
            tracing::warn!(%error, "memory that was freed may count as used");
        }
        let (mut free, mut total) = (0, 0);
        let asked = self.context.enter().and_then(|_entered| {
            // SAFETY: the function writes the two numbers.
            let code = unsafe { functions::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
            self.context.check("cuMemGetInfo", code)
        });
        if let Err(error) = asked {
            tracing::warn!(%error, "the size of device memory is unknown");
        }
        MemoryInfo {
            total: total as u64,
            used: total.saturating_sub(free) as u64,
        }
    }

    /// Allocates device memory.
    pub(super) fn alloc(&self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        let mut queue = lock(&self.queue);
        let allocated = self.alloc_in(&mut queue, bytes, fill)?;
        if let Some(address) = allocated
            // Other streams can use the address once this one has reached the allocation.
            && let Err(error) = queue.synchronize()
        {
            self.free_in(&queue, address);
            return Err(error);
        }
        drop(queue);
        allocated.ok_or_else(|| self.too_small_for(bytes))
    }

    /// Allocates device memory for what follows in `queue`; `None` if there is not enough.
    pub(super) fn alloc_in(
        &self,
        queue: &mut CudaQueue,
        bytes: u64,
        fill: Fill,
    ) -> Result<Option<DeviceAddr>, DeviceError> {
        let _entered = self.context.enter()?;
        let mut address: CUdeviceptr = 0;
        let size = bytes.max(1) as usize;
        // SAFETY: the functions write the address; the stream is `queue`'s.
        let (call, code) = unsafe {
            if self.by_stream {
                let code = functions::cuMemAllocAsync(&raw mut address, size, queue.stream());
                ("cuMemAllocAsync", code)
            } else {
                (
                    "cuMemAlloc",
                    functions::cuMemAlloc_v2(&raw mut address, size),
                )
            }
        };
        if code == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Ok(None);
        }
        self.context.check(call, code)?;
        lock(&self.allocated).insert(address, bytes);
        let address = DeviceAddr(address);
        if fill == Fill::Zeros
            && let Err(error) = queue.zero(&self.zeros, address, size)
        {
            self.free_in(queue, address);
            return Err(error);
        }
        Ok(Some(address))
    }

    /// The error about an allocation of so many bytes.
    pub(super) fn too_small_for(&self, bytes: u64) -> DeviceError {
        let MemoryInfo { total, used } = self.info();
        DeviceError::OutOfMemory {
            device: self.context.name().to_owned(),
            bytes,
            free: total - used,
            total,
            setting: None,
        }
    }

    /// As for [`is_allocated`]: the driver's own check rounds sizes up.
    pub(super) fn contains(&self, address: DeviceAddr, len: u64) -> Option<bool> {
        is_allocated(&lock(&self.allocated), GRAIN, address, len)
    }

    /// Frees what [`alloc`](Self::alloc) returned. Other addresses are ignored.
    pub(super) fn free(&self, address: DeviceAddr) {
        self.free_in(&lock(&self.queue), address);
    }

    /// Frees it when `queue` gets there.
    fn free_in(&self, queue: &CudaQueue, DeviceAddr(address): DeviceAddr) {
        if lock(&self.allocated).remove(&address).is_none() {
            return;
        }
        let freed = self.context.enter().and_then(|_entered| {
            // SAFETY: the map shows that it was allocated and not freed; the caller has waited for
            // its uses, or they precede this in `queue`, and `cuMemFree` waits for them.
            let (call, code) = unsafe {
                if self.by_stream {
                    let code = functions::cuMemFreeAsync(address, queue.stream());
                    ("cuMemFreeAsync", code)
                } else {
                    ("cuMemFree", functions::cuMemFree_v2(address))
                }
            };
            self.context.check(call, code)
        });
        match freed {
            // The memory is freed with the context.
            Ok(()) | Err(DeviceError::Lost { .. }) => {}
            Err(error) => tracing::warn!(%error, address, "device memory was not freed"),
        }
    }
}

/// Allocates zeroed mapped memory: pinned, and known to the GPUs of all contexts.
pub(super) fn mapped(context: &Arc<Context>, bytes: usize) -> Result<MappedMemory, DeviceError> {
    let entered = context.enter()?;
    let mut host = null_mut();
    let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    // SAFETY: the function writes the address.
    let code = unsafe { functions::cuMemHostAlloc(&raw mut host, bytes.max(1), flags) };
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
            let code = unsafe { functions::cuMemFreeHost(address as *mut _) };
            of.check("cuMemFreeHost", code)
        });
        match freed {
            Ok(()) | Err(DeviceError::Lost { .. }) => {}
            Err(error) => tracing::warn!(%error, "mapped memory was not freed"),
        }
    };
    let mut device: CUdeviceptr = 0;
    // SAFETY: the function writes the address; the memory is mapped.
    let code = unsafe { functions::cuMemHostGetDevicePointer_v2(&raw mut device, host, 0) };
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
