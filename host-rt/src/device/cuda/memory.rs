//! Device memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::{CUdevice_attribute, CUdeviceptr, CUresult};

use super::context::Context;
use super::lock;
use super::stream::Stream;
use crate::device::bounds::is_allocated;
use crate::device::{DeviceAddr, DeviceError, Fill, MappedMemory, MemoryInfo};

/// The driver rounds allocations up to a multiple of this.
const GRAIN: u64 = 512;

/// A GPU's memory.
///
/// A host function may allocate and free while its kernel waits for it, so nothing here may wait
/// for kernels. `cuMemFree` does, but frees ordered by a stream do not.
pub(super) struct Memory {
    context: Arc<Context>,
    /// It orders frees, and allocations that are waited for.
    stream: Mutex<Stream>,
    /// The stream's staging memory, which it does not use.
    zeros: Arc<MappedMemory>,
    /// Sizes by address.
    allocated: Mutex<BTreeMap<u64, u64>>,
    /// Whether the driver supports allocations ordered by streams.
    by_stream: bool,
}

impl Memory {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        use CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED as POOLS;
        let stream = Stream::new(context)?;
        Ok(Self {
            zeros: Arc::clone(stream.staging()),
            stream: Mutex::new(stream),
            allocated: Mutex::default(),
            by_stream: context.attribute(POOLS) != 0,
            context: Arc::clone(context),
        })
    }

    /// The GPU's memory in total, and the used part.
    pub(super) fn info(&self) -> MemoryInfo {
        // Freed memory becomes available once the stream has reached the free.
        if let Err(error) = lock(&self.stream).synchronize() {
            tracing::warn!(%error, "memory that was freed may count as used");
        }
        let (mut free, mut total) = (0, 0);
        let asked = self.context.enter().and_then(|_entered| {
            // SAFETY: the function writes the two numbers.
            let code = unsafe {
                self.context
                    .cu()
                    .cuMemGetInfo_v2(&raw mut free, &raw mut total)
            };
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

    /// Whether allocations wait only for their own stream. CUDA's manual lists `cuMemAlloc` among the
    /// calls that may wait for kernels of all streams.
    pub(super) fn allocates_by_stream(&self) -> bool {
        self.by_stream
    }

    /// Allocates device memory.
    pub(super) fn alloc(&self, bytes: u64, fill: Fill) -> Result<DeviceAddr, DeviceError> {
        let mut stream = lock(&self.stream);
        let allocated = self.alloc_in(&stream, bytes, fill)?;
        if let Some(address) = allocated
            // Other streams can use the address once this one has reached the allocation.
            && let Err(error) = stream.synchronize()
        {
            self.free_in(&stream, address);
            return Err(error);
        }
        drop(stream);
        allocated.ok_or_else(|| self.too_small_for(bytes))
    }

    /// Allocates device memory for what follows in `stream`; `None` if there is not enough.
    pub(super) fn alloc_in(
        &self,
        stream: &Stream,
        bytes: u64,
        fill: Fill,
    ) -> Result<Option<DeviceAddr>, DeviceError> {
        let _entered = self.context.enter()?;
        let mut address: CUdeviceptr = 0;
        let size = bytes.max(1) as usize;
        // SAFETY: the functions write the address; the stream is alive.
        let (call, code) = unsafe {
            if self.by_stream {
                let code = self
                    .context
                    .cu()
                    .cuMemAllocAsync(&raw mut address, size, stream.raw);
                ("cuMemAllocAsync", code)
            } else {
                (
                    "cuMemAlloc",
                    self.context.cu().cuMemAlloc_v2(&raw mut address, size),
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
            && let Err(error) = stream.zero(&self.zeros, address, size)
        {
            self.free_in(stream, address);
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
            setting: self.context.emulated.as_ref().map(|_| "REVOFF_EMU_MEMORY"),
        }
    }

    /// As for [`is_allocated`]: the driver's own check rounds sizes up.
    pub(super) fn contains(&self, address: DeviceAddr, len: u64) -> Option<bool> {
        is_allocated(&lock(&self.allocated), GRAIN, address, len)
    }

    /// Frees what [`alloc`](Self::alloc) returned. Other addresses are ignored.
    pub(super) fn free(&self, address: DeviceAddr) {
        self.free_in(&lock(&self.stream), address);
    }

    /// Frees it when `stream` gets there.
    fn free_in(&self, stream: &Stream, DeviceAddr(address): DeviceAddr) {
        if lock(&self.allocated).remove(&address).is_none() {
            return;
        }
        let freed = self.context.enter().and_then(|_entered| {
            // SAFETY: the map shows that it was allocated and not freed; the caller has waited for
            // its uses, or they precede this in `stream`, and `cuMemFree` waits for them.
            let (call, code) = unsafe {
                if self.by_stream {
                    let code = self.context.cu().cuMemFreeAsync(address, stream.raw);
                    ("cuMemFreeAsync", code)
                } else {
                    ("cuMemFree", self.context.cu().cuMemFree_v2(address))
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
